from AF005_good_nodes import VERSION, reply

from agentflow import define_workflow

workflow = define_workflow("faq", nodes=[reply], inputs=["question"], version=VERSION)
