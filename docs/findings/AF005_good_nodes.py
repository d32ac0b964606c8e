from agentflow import node, route

VERSION = "2"


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"Version {VERSION}. You asked: {state['question']}"}
