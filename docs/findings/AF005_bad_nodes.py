from AF005_bad import VERSION

from agentflow import node, route


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"Version {VERSION}. You asked: {state['question']}"}
