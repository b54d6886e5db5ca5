// What the fuzzer notices in answers: here they come from no server.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Fuzzer } from './support/fuzzer.mjs';

function fuzzer() {
    const made = new Fuzzer({ callers: [], seed: 1,
        server: { origin: 'http://127.0.0.1:1', specification: { document: { paths: {} } } } });
    const operation = { method: 'GET', path: '/api/v1/jobs', security: [] };
    made.hear = (value, began = ++made.moment, method = 'GET') =>
        made.learn(value, { operation: { ...operation, method }, caller: {}, status: 200, began });
    return made;
}

test('what has ended and goes on again is noticed', () => {
    for (const [name, end, later] of [['ticket_id', 'closed', 'answered'], ['job_id', 'FAILED', 'CLOSED'],
        ['job_id', 'STOPPED', 'RUNNING'], ['dispute_id', 'closed', 'open']]) {
        const one = fuzzer();
        one.hear({ items: [{ [name]: 'a', state: end }] });
        assert.throws(() => one.hear({ [name]: 'a', state: later }), /had ended/);
    }
});

test('a job is stopped and then closed, and older answers may come later', () => {
    const one = fuzzer();
    const began = ++one.moment;
    one.hear({ job_id: 'a', state: 'RUNNING' });
    one.hear({ job_id: 'a', state: 'STOPPED' });
    one.hear({ job_id: 'a', state: 'STOPPING' }, began);
    one.hear({ job_id: 'a', state: 'STOPPING' }, ++one.moment, 'POST'); // repeated
    one.hear({ job_id: 'a', state: 'CLOSED' });
    one.hear({ job_id: 'b', state: 'RUNNING' });
    one.hear({ ticket_id: 't', job_id: 'a', state: 'open' });
});
