// What other programs were promised, held against openapi.json: that the server's answers agree with
// that file, every other test sees to. A change here breaks somebody.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { Specification } from './support/specification.mjs';

const document = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
const { ajv } = new Specification(document);
const resolved = (it) => (it?.$ref
    ? it.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : it);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })));

function operation(route) {
    const [method, path] = route.split(' ');
    const found = document.paths[path]?.[method.toLowerCase()];
    assert.ok(found, route);
    return found;
}
const takesKey = ({ parameters = [] }) =>
    parameters.some((it) => it.$ref === '#/components/parameters/IdempotencyKey');
const bodyOf = (route) => resolved(operation(route).requestBody?.content['application/json'].schema);
const answerOf = (route, status) =>
    resolved(operation(route).responses[status]?.content?.['application/json'].schema);

// route, status, members that must be sent, others that may be; none: no body.
const requests = [
    ['POST /api/v1/funding-intents', 201, 'wallet_binding_id amount_micro', ''],
    ['POST /api/v1/funding-intents/{id}/claim', 202, 'tx_hash log_index', ''],
    ['POST /api/v1/withdrawals/code', 202, 'kind address amount_micro', 'network asset'],
    ['POST /api/v1/withdrawal-addresses', 202, 'address', 'network label code'],
    ['POST /api/v1/withdrawals', 202, 'address amount_micro',
        'network asset label code siwe_message signature'],
    ['POST /api/v1/hosts/payouts', 202, 'address amount_micro',
        'network asset label code siwe_message signature'],
    ['POST /api/v1/wallets/nonce', 201],
    ['POST /api/v1/wallets/link', 201, 'chain_id address siwe_message signature', ''],
    ['DELETE /api/v1/wallets/{binding_id}', 204],
    ['DELETE /api/v1/account/api-keys/{id}', 204],
    ['POST /api/v1/tickets', 201, 'category text', 'job_id payment_reference'],
    ['POST /api/v1/admin/refunds', 202, 'job_id amount_micro reason evidence', ''],
    ['POST /api/v1/hosts/machines/{id}/list', 202],
    ['PATCH /api/v1/hosts/machines/{id}/offer', 202, 'expected_version rate_micro_per_hour '
        + 'included_disk_gib included_egress_gib available_from available_until',
    'listing_expires_at min_duration_s max_duration_s availability_class preemption_notice_s'],
    ['PUT /api/v1/hosts/machines/{id}/custom-images', 200, 'accept', ''],
];
const answers = [
    ['POST /api/v1/funding-intents/{id}/claim', 202, 'intent_id state'],
    ['POST /api/v1/funding-intents', 201,
        'intent_id chain_id token treasury_address amount_micro expires_at instructions'],
    ['POST /api/v1/withdrawals/code', 202, 'sent expires_at'],
    ['POST /api/v1/wallets/nonce', 201, 'nonce expires_at'],
    ['POST /api/v1/wallets/link', 201, 'binding_id chain_id address version linked_at unlinked_at'],
    ['GET /api/v1/account/integrations/{provider}', 200, 'provider set updated_at'],
    ['POST /api/v1/agents/accounts/challenge', 200, 'message expires_at terms_version terms_url'],
    ['GET /api/v1/billing/receipts/{job}', 200, 'job_id state machine_rate_micro_per_hour '
        + 'platform_fee_bps accepted_runtime_ms charge_micro fee_micro host_micro '
        + 'funded_budget_micro supplier operator entries'],
];

test('what a request may have is what was promised, and nothing else', () => {
    for (const [route, status, must, may] of requests) {
        assert.ok(operation(route).responses[status], `${route} ${status}`);
        const body = bodyOf(route);
        if (must === undefined) {
            assert.equal(body, undefined, route);
            continue;
        }
        const wanted = must.split(' ');
        assert.deepEqual([...body.required].sort(), [...wanted].sort(), route);
        const all = [...wanted, ...may.split(' ').filter(Boolean)];
        assert.deepEqual(Object.keys(body.properties).sort(), all.sort(), route);
        assert.equal(body.additionalProperties, false, route);
    }
});

test('what an answer has to have, it has', () => {
    for (const [route, status, members] of answers) {
        const { required } = answerOf(route, status);
        for (const name of members.split(' ')) assert.ok(required.includes(name), `${route} ${name}`);
    }
});

test('a transfer is accepted in two ways', () => {
    for (const route of ['POST /api/v1/withdrawals', 'POST /api/v1/hosts/payouts'])
        assert.deepEqual([...resolved(answerOf(route, 202).properties.state).enum].sort(),
            ['AWAITING_EMAIL_CONFIRMATION', 'INTENT'], route);
});

test('amounts and milliseconds are strings, basis points are numbers', () => {
    for (const [name, { properties = {} }] of Object.entries(document.components.schemas))
        for (const [member, given] of Object.entries(properties)) {
            const { type, anyOf } = resolved(given);
            const types = [type, ...(anyOf ?? []).map((it) => resolved(it).type)].flat();
            if (/_(micro|ms)$|_micro_per_/.test(member) && !types.includes('object'))
                assert.ok(types.includes('string'), `${name}.${member}`);
            if (/_bps$/.test(member)) assert.ok(types.includes('integer'), `${name}.${member}`);
        }
});

test('what changes money, jobs or machines wants an Idempotency-Key', () => {
    // Codes, challenges and previews change nothing; what goes to an engine is not ours to repeat.
    const without = /\/(withdrawals\/(code|challenge)|preview|openai\/v1\/.+)$/;
    const about = /^\/api\/v1\/(quotes|jobs|funding-intents|withdraw|hosts|wallets|tickets|admin)/;
    for (const it of operations) {
        if (it.method === 'get' || !about.test(it.path)) continue;
        assert.equal(takesKey(it), !without.test(it.path), `${it.method} ${it.path}`);
    }
    assert.equal(document.components.parameters.IdempotencyKey.required, true);
});

test('lists have a page, but for the few that are short', () => {
    for (const it of operations.filter(({ method }) => method === 'get')) {
        const schema = resolved(it.responses[200]?.content?.['application/json']?.schema);
        if (!schema?.properties?.items) continue;
        const parameters = Object.fromEntries((it.parameters ?? []).map((each) =>
            [resolved(each).name, resolved(each)]));
        if (['/api/v1/wallets', '/api/v1/withdrawal-addresses'].includes(it.path)) {
            assert.deepEqual(schema.required, ['items'], it.path);
            continue;
        }
        if (!parameters.cursor) continue;
        assert.deepEqual(['items', 'next_cursor'].filter((name) => schema.required.includes(name)),
            ['items', 'next_cursor'], it.path);
        const { minimum, maximum, default: usual } = parameters.limit.schema;
        // All settings are one page for who asks for no other.
        const unasked = it.path === '/api/v1/admin/settings' ? undefined : 20;
        assert.deepEqual([minimum, maximum, usual], [1, 100, unasked], it.path);
    }
});

test('operators act on users in five ways, and never on a balance', () => {
    const { oneOf } = bodyOf('POST /api/v1/admin/users/{id}/actions');
    const actions = oneOf.map(resolved);
    assert.deepEqual(actions.map(({ properties }) => properties.action.const), ['set_role',
        'set_host_capability', 'set_suspension', 'revoke_sessions', 'reset_mfa']);
    for (const { properties, required, additionalProperties } of actions) {
        assert.equal(additionalProperties, false);
        assert.ok(required.includes('reason') && required.includes('expected_version'));
        assert.deepEqual([properties.reason.minLength, properties.reason.maxLength], [5, 2000]);
        assert.equal(properties.expected_version.type, 'string');
        for (const name of Object.keys(properties)) assert.doesNotMatch(name, /balance|amount|credit/);
    }
    for (const { path } of operations) assert.doesNotMatch(path, /\/admin\/.*(balance|credit|ledger)/);
    for (const it of operations.filter(({ path }) => path.includes('/admin/'))) {
        assert.deepEqual(it.security, [{ session: [] }], it.path);
        assert.match(it.description, /TOTP( \(admin, finance or support\)| of an admin or of (finance|support))?; API keys are refused/);
    }
    const { description } = operation('POST /api/v1/admin/users/{id}/actions');
    assert.match(description, /fresh step-up for admin-sensitive/);
});

test('amounts, hashes, addresses and digests have one spelling', () => {
    const taken = (schema, values) => values.filter((value) => ajv.validate(schema, value));
    const { amount_micro } = bodyOf('POST /api/v1/funding-intents').properties;
    assert.deepEqual(taken(amount_micro, ['1', '5000000', '', '-1', '+1', '01', '1.0', '1e3', 5]),
        ['1', '5000000']);
    const { tx_hash } = bodyOf('POST /api/v1/funding-intents/{id}/claim').properties;
    assert.deepEqual(taken(tx_hash, [`0x${'aB'.repeat(32)}`, 'ab'.repeat(32), `0x${'a'.repeat(63)}`]),
        [`0x${'aB'.repeat(32)}`]);
    const { address, label, code } = bodyOf('POST /api/v1/withdrawal-addresses').properties;
    assert.deepEqual(taken(address, [`0x${'Ab'.repeat(20)}`, `0x${'a'.repeat(39)}`, `0x${'g'.repeat(40)}`]),
        [`0x${'Ab'.repeat(20)}`]);
    assert.deepEqual([label.minLength, label.maxLength], [1, 40]);
    assert.deepEqual(taken(code, ['123456', '12345', '1234567', '12345a']), ['123456']);
    const { image } = bodyOf('POST /api/v1/quotes').properties;
    const digest = `sha256:${'0a'.repeat(32)}`;
    assert.deepEqual(taken(image, [`a/b@${digest}`, `a b@${digest}`, `a@b@${digest}`, 'a/b:latest',
        `a/b@${digest.toUpperCase()}`]), [`a/b@${digest}`]);
});

test('errors have one envelope, and the codes the status that they always have', () => {
    const { ErrorEnvelope, ErrorDetail } = document.components.schemas;
    assert.deepEqual(ErrorEnvelope.required, ['error']);
    assert.deepEqual(ErrorDetail.required, ['code', 'message', 'retryable', 'request_id']);
    const statuses = { UNAUTHENTICATED: [401], FORBIDDEN: [403], ADMISSION_PAUSED: [403],
        AUTHORIZATION_INVALID: [403], NOT_FOUND: [404], INVALID_INPUT: [422, 413],
        IDEMPOTENCY_CONFLICT: [409], CONFLICT: [409], VERSION_CONFLICT: [409], STALE_VERSION: [409],
        STALE_FENCE: [409], QUOTE_EXPIRED: [409], INSUFFICIENT_FUNDS: [409], STOP_IRREVERSIBLE: [409],
        EVENTS_EXPIRED: [409],
        UNAVAILABLE: [503, 429] };
    const hostAgents = ['BUDGET_VERSION_OLDER', 'BUDGET_FUNDING_MISMATCH', 'LEASE_SEQ_REPLAY',
        'COMMAND_EXPIRED', 'UNSUPPORTED_PROTOCOL_VERSION', 'UNKNOWN_COMMAND_KIND', 'NO_GATE'];
    for (const { path, responses } of operations) {
        for (const [status, { description }] of Object.entries(responses)) {
            for (const code of description.match(/\b[A-Z_]{4,}(?=:)/g) ?? []) {
                if (hostAgents.includes(code)) assert.match(path, /host-agent/);
                else assert.ok(statuses[code]?.includes(Number(status)), `${path} ${status} ${code}`);
            }
        }
    }
});

test('it is version 3.0.0, under /api/v1', () => {
    assert.equal(document.info.version, '3.0.0');
    const elsewhere = ['/', '/healthz', '/readyz', '/openapi.json', '/docs', '/docs/api', '/docs/{page}',
        '/sign-in', '/terms', '/confirm/{confirmation_id}', '/recovery/{id}', '/.well-known/berth-keys.json',
        '/assets/{name}', '/branding.css', '/branding/logo'];
    for (const { path } of operations) {
        assert.ok(path.startsWith('/api/v1/') || elsewhere.includes(path), path);
    }
});
