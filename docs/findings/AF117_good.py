from functools import partial

from agentflow import define_workflow, node, route


async def reply(state, ctx, tone):
    return {"answer": f"{tone} You asked: {state['question']}"}


workflow = define_workflow(
    "faq",
    nodes=[
        node(
            partial(reply, tone="Gladly."),
            id="reply",
            requires=["question"],
            provides=["answer"],
            routes=[route.deliver("answer")],
        )
    ],
    inputs=["question"],
)
