from agentflow import define_workflow, node, route


@node(requires=["name"], provides=["letter"], routes=[route.to("check")])
async def write(state):
    return {"letter": f"Dear {state['name']}, with kind regards"}


@node(requires=["letter"], routes=[route.to("send")])
async def check(state):
    return None


async def send(state):
    return None


send_it = node(send, id="send", requires=["letter"], routes=[route.deliver("letter")])
workflow = define_workflow("letter", nodes=[write, check, send_it], inputs=["name"])
