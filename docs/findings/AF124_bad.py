from agentflow import define_workflow, node, route


@node(provides=["page"], on_error="retry", routes=[route.deliver("page")])
async def fetch(state):
    return {"page": "hello"}


@node(provides=["page"], on_error="fetch", routes=[route.deliver("page")])
async def retry(state):
    return {"page": "a cached hello"}


workflow = define_workflow("reader", nodes=[fetch, retry])
