from AF005_bad_nodes import reply

from agentflow import define_workflow

VERSION = "2"
workflow = define_workflow("faq", nodes=[reply], inputs=["question"], version=VERSION)
