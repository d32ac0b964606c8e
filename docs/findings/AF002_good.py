import os

from agentflow import define_workflow, node, route

GREETING = os.environ.get("FAQ_GREETING", "Hello.")


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"{GREETING} You asked: {state['question']}"}


workflow = define_workflow("faq", nodes=[reply], inputs=["question"])
