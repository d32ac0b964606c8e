from agentflow import Retry, define_workflow, node, route


@node(provides=["answer"], retry=Retry(attempts=3), routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": "42"}


workflow = define_workflow("faq", nodes=[reply])
