-- Times are microseconds since 1970 in UTC.

CREATE TABLE agentflow_drivers (
    driver BIGINT PRIMARY KEY,
    machine TEXT NOT NULL,
    pid BIGINT NOT NULL,
    began BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);

CREATE TABLE agentflow_runs (
    run_key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id TEXT COLLATE "C" NOT NULL UNIQUE,
    workflow_id TEXT NOT NULL,
    workflow_version TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    due BIGINT,
    epoch BIGINT NOT NULL,
    driver BIGINT
);

CREATE INDEX agentflow_runs_by_age ON agentflow_runs (created, run_id);

CREATE INDEX agentflow_runs_by_status ON agentflow_runs (status, created, run_id);

CREATE INDEX agentflow_runs_by_due ON agentflow_runs (due) WHERE due IS NOT NULL;

CREATE INDEX agentflow_runs_by_driver ON agentflow_runs (driver) WHERE driver IS NOT NULL;

CREATE TABLE agentflow_entries (
    run_key BIGINT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    written BIGINT NOT NULL,
    PRIMARY KEY (run_key, number)
);

CREATE TABLE agentflow_snapshots (
    run_key BIGINT PRIMARY KEY,
    number BIGINT NOT NULL,
    body TEXT NOT NULL
);

-- An append touches no row of agentflow_runs: the number of the last entry, and when it was written, are found here.
CREATE VIEW agentflow_journals AS
SELECT
    run_key,
    run_id,
    workflow_id,
    workflow_version,
    fingerprint,
    status,
    created,
    greatest(updated, coalesce((
        SELECT written FROM agentflow_entries AS e
        WHERE e.run_key = r.run_key ORDER BY number DESC LIMIT 1
    ), 0)) AS updated,
    coalesce((SELECT max(number) FROM agentflow_entries AS e WHERE e.run_key = r.run_key), 0) AS last,
    epoch,
    due,
    driver
FROM agentflow_runs AS r;
