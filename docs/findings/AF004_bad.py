import faq_texts

from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": faq_texts.greeting(state["question"])}


workflow = define_workflow("faq", nodes=[reply], inputs=["question"])
