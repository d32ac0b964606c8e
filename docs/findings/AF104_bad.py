from agentflow import define_workflow

workflow = define_workflow("faq", nodes=[])
