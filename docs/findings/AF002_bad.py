import os

from agentflow import define_workflow, node, route

GREETING = os.environ["FAQ_GREETING"]


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"{GREETING} You asked: {state['question']}"}


workflow = define_workflow("faq", nodes=[reply], inputs=["question"])
