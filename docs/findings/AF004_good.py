from agentflow import define_workflow, node, route


def greeting(question):
    return f"Hello. You asked: {question}"


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": greeting(state["question"])}


workflow = define_workflow("faq", nodes=[reply], inputs=["question"])
