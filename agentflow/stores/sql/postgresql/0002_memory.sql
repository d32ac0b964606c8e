-- What agents remember. The key of a turn grows with its age, so that turns are told in their order.

CREATE TABLE agentflow_turns (
    turn_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (resource, thread, turn)
);

CREATE INDEX agentflow_turns_by_age ON agentflow_turns (resource, thread, turn_key);

CREATE TABLE agentflow_turn_records (
    resource TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (resource, thread, turn, place)
);

CREATE TABLE agentflow_working_memory (
    resource TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
