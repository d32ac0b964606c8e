"""What the examples of specifications name: two functions and a state."""

from dataclasses import dataclass


@dataclass
class Asked:
    question: str
    tone: str = "plain"
    answer: str = ""


def reply(state):
    return {"answer": f"You asked: {state['question']}"}


def apologise(state):
    return {"answer": "I do not know."}
