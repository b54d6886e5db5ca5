// Sends requests that follow openapi.json and requests that break it, one after the other, as
// several callers. What came back feeds what is sent: ids, versions and cursors travel from answers
// into paths, queries and bodies. Every answer is held to the specification, none may be a fault of
// the server, and nobody is shown what belongs to somebody else.
import assert from 'node:assert/strict';

// Answers the same numbers for the same seed.
export class Dice {
    constructor(seed) {
        this.state = seed >>> 0;
    }

    number() { // mulberry32, in [0, 1)
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let t = this.state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }

    below(n) {
        return Math.floor(this.number() * n);
    }

    chance(share) {
        return this.number() < share;
    }

    pick(list) {
        return list[this.below(list.length)];
    }

    uuid() {
        const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-`
            + hex.slice(20);
    }
}

const poolMax = 40; // values remembered of one name
const depthMax = 6; // of a made-up body
const oddTexts = ['', ' ', '\u0000', '🦊'.repeat(50), 'a'.repeat(5000), '../../etc/passwd', "'; --",
    '%00', 'null', '-1', '0', '9'.repeat(40), '1e9', 'NaN', '\ud800', '<b>', '{{7*7}}', '\r\nX: y'];
const oddNumbers = [0, -1, 1.5, 1e308, 9007199254740993, -9223372036854775808, 4294967296];
const oddValues = [null, true, [], {}, [[]], { a: { b: { c: {} } } }, [null], ...oddNumbers];
const brokenBodies = ['', '{', '[]', 'null', '"x"', '{"a":1,"a":2}', '{"a":1}}', '\ufeff{}',
    '{"a":\u0001}', '['.repeat(2000), '{"a":'.repeat(200), '{"__proto__":{"x":1}}', '1'.repeat(3000)];

// Names of ids that belong to the account which got them for making something.
const ownIds = new Set(['key_id', 'intent_id', 'address_id', 'binding_id', 'ticket_id', 'job_id',
    'quote_id', 'enrollment_id', 'machine_id', 'transfer_id', 'withdrawal_id', 'payout_id']);

export class Fuzzer {
    // A caller is {name, admin, headers(method), renew()}; `leftOut` names operations that would
    // end the run.
    constructor({ server, callers, seed, leftOut = [] }) {
        Object.assign(this, { server, callers, seed, dice: new Dice(seed) });
        this.document = server.specification.document;
        this.operations = Object.entries(this.document.paths).flatMap(([path, methods]) =>
            Object.entries(methods).map(([method, operation]) =>
                ({ path, method: method.toUpperCase(), ...operation })))
            .filter(({ operationId }) => !leftOut.includes(operationId));
        this.pool = new Map(); // name → values seen
        this.owners = new Map(); // id → caller who made it
        this.gone = new Map(); // id → the list that must not show it again
        this.counts = {};
        this.reached = new Set(); // operations that succeeded
    }

    async run(requests) {
        for (let i = 0; i < requests; ++i) {
            const request = this.make();
            try {
                await this.send(request);
            } catch (error) {
                error.message = `seed ${this.seed}, request ${i}, ${request.caller.name}: `
                    + `${request.method} ${request.path} ${String(request.body).slice(0, 2000)}\n`
                    + error.message;
                throw error;
            }
        }
    }

    make() {
        const { dice } = this;
        const operation = dice.pick(this.operations);
        const caller = dice.pick(this.callers);
        const parameters = (operation.parameters ?? []).map((it) => this.resolve(it));
        let path = operation.path.replace(/\{(\w+)\}/g, (_, name) =>
            encodeURIComponent(this.pathValue(operation.path, name, parameters)));
        const query = parameters.filter((it) => it.in === 'query' && dice.chance(0.4))
            .map(({ name, schema }) => [name, this.queryValue(name, schema)]);
        if (dice.chance(0.03)) query.push([dice.pick(['x', 'limit', 'cursor']), dice.pick(oddTexts)]);
        if (query.length) path += `?${query.map((pair) => pair.map(encode).join('=')).join('&')}`;
        const headers = { ...caller.headers(operation.method) };
        if (dice.chance(0.03)) headers.Authorization = dice.pick(['Bearer x', 'Basic YTpi', 'Bearer ']);
        if (parameters.some((it) => it.name === 'Idempotency-Key')) {
            if (!dice.chance(0.05)) headers['Idempotency-Key'] = this.idempotencyKey();
        }
        const content = operation.requestBody && this.resolve(operation.requestBody).content;
        const body = content && this.body(content, headers);
        return { operation, caller, method: operation.method, path, headers, body };
    }

    idempotencyKey() {
        if (this.lastKey && this.dice.chance(0.03)) return this.lastKey; // of another request
        return this.lastKey = this.dice.chance(0.02) ? this.dice.pick(['x', 'k'.repeat(300)])
            : this.dice.uuid();
    }

    body(content, headers) {
        const { dice } = this;
        const [type, { schema, example }] = Object.entries(content)[0];
        headers['Content-Type'] = dice.chance(0.02) ? 'text/plain' : type;
        if (dice.chance(0.05)) return dice.pick(brokenBodies);
        let value = example !== undefined && dice.chance(0.5) ? structuredClone(example)
            : this.value(schema, '', 0);
        if (value !== null && typeof value === 'object') {
            this.fill(value);
            if (dice.chance(0.35)) value = this.spoil(value);
        }
        return JSON.stringify(value);
    }

    // Puts ids and versions that were seen into the members that are called so.
    fill(value) {
        for (const [name, member] of Object.entries(value)) {
            if (member !== null && typeof member === 'object') this.fill(member);
            else if (this.pool.has(name) && this.dice.chance(0.7)) value[name] = this.seen(name);
        }
    }

    spoil(value) {
        const { dice } = this;
        const names = Object.keys(value);
        const name = names.length ? dice.pick(names) : 'x';
        switch (dice.below(4)) {
        case 0: delete value[name]; break;
        case 1: value[name] = dice.pick(oddValues); break;
        case 2: value[name] = dice.pick(oddTexts); break;
        default: value[dice.pick(['extra', '__proto__x', 'id', ''])] = dice.pick(oddValues);
        }
        return value;
    }

    resolve(it) {
        return it.$ref ? it.$ref.slice(2).split('/').reduce((at, name) => at[name], this.document) : it;
    }

    seen(name) {
        return this.dice.pick(this.pool.get(name));
    }

    // "{id}" after ".../machines" is a machine_id, if there is one.
    pathValue(path, name, parameters) {
        const { dice } = this;
        if (dice.chance(0.05)) return dice.pick(oddTexts.filter((text) => text && text !== '\ud800'));
        const before = path.slice(0, path.indexOf(`{${name}}`)).split('/').filter(Boolean).at(-1);
        const guess = `${before.replace(/s$/, '').replaceAll('-', '_')}_id`;
        for (const candidate of [name, guess, `${before.split('-').at(-1).replace(/s$/, '')}_id`]) {
            if (this.pool.has(candidate) && dice.chance(0.85)) return String(this.seen(candidate));
        }
        const ids = [...this.pool.keys()].filter((key) => key.endsWith('_id'));
        if (ids.length && dice.chance(0.5)) return String(this.seen(dice.pick(ids)));
        const parameter = parameters.find((it) => it.name === name);
        return String(this.value(parameter?.schema ?? {}, name, depthMax) || 'x');
    }

    queryValue(name, schema) {
        const { dice } = this;
        if (dice.chance(0.15)) return dice.pick(oddTexts);
        if (this.pool.has(name) && dice.chance(0.6)) return this.seen(name);
        return this.value(schema, name, depthMax);
    }

    // Something that the schema allows, mostly.
    value(given, name, depth) {
        const { dice } = this;
        const schema = this.resolve(given);
        if (this.pool.has(name) && dice.chance(0.5)) return this.seen(name);
        if (schema.const !== undefined) return schema.const;
        if (schema.enum) return dice.pick(schema.enum);
        const choices = schema.oneOf ?? schema.anyOf;
        if (choices) return this.value(dice.pick(choices), name, depth + 1);
        if (schema.allOf) return this.value(schema.allOf[0], name, depth + 1);
        const type = Array.isArray(schema.type) ? dice.pick(schema.type) : schema.type;
        switch (type) {
        case 'object': return this.object(schema, depth);
        case 'array': return depth >= depthMax ? [] : Array.from(
            { length: dice.below(3) }, () => this.value(schema.items ?? {}, name, depth + 1));
        case 'boolean': return dice.chance(0.5);
        case 'integer': return this.integer(schema);
        case 'number': return dice.number() * 100;
        case 'null': return null;
        default: return this.text(schema);
        }
    }

    object(schema, depth) {
        const made = {};
        if (depth >= depthMax) return made;
        for (const [name, member] of Object.entries(schema.properties ?? {})) {
            const wanted = schema.required?.includes(name);
            if (wanted || this.dice.chance(0.4)) made[name] = this.value(member, name, depth + 1);
        }
        return made;
    }

    integer({ minimum = 0, maximum = minimum + 1000 }) {
        const { dice } = this;
        return dice.chance(0.2) ? dice.pick([minimum, maximum])
            : minimum + dice.below(Math.min(maximum - minimum, 1e9) + 1);
    }

    text(schema) {
        const { dice } = this;
        if (schema.examples && dice.chance(0.6)) return dice.pick(schema.examples);
        if (schema.example !== undefined && dice.chance(0.6)) return schema.example;
        if (schema.format === 'uuid') return dice.uuid();
        if (schema.format === 'date-time') {
            return new Date(1.7e12 + dice.below(2e9) * 1000).toISOString().replace(/\.\d+/, '');
        }
        if (schema.pattern?.includes('[0-9]') || schema.pattern?.includes('\\d')) {
            return String(dice.below(1e7));
        }
        const length = Math.max(schema.minLength ?? 0, dice.below(Math.min(schema.maxLength ?? 40, 60)));
        return 'abc xyz'.repeat(10).slice(0, length);
    }

    async send({ operation, caller, method, path, headers, body }) {
        const { server } = this;
        const response = await fetch(server.origin + path, {
            method, headers, body: method === 'GET' ? undefined : body, redirect: 'manual',
            signal: AbortSignal.timeout(30_000),
        });
        const answer = { status: response.status, headers: response.headers };
        answer.text = await response.text();
        if (response.headers.get('content-type') === 'application/json') {
            answer.body = JSON.parse(answer.text);
        }
        this.counts[answer.status] = (this.counts[answer.status] ?? 0) + 1;
        assert.ok(answer.status < 500 || answer.status === 503, `a fault: ${answer.text}`);
        // A path that an odd value broke belongs to no route.
        if (this.fits(operation, path)) server.specification.check(method, path, answer);
        if (answer.status < 300) {
            this.reached.add(operation.operationId);
            if (answer.body) this.learn(answer.body, operation, caller, answer.status);
            if (method === 'DELETE') this.forget(operation, path);
        }
        const isForCallers = operation.security?.some((it) => it.apiKey || it.session);
        const isOdd = headers.Authorization?.match(/^B\w+ .{0,5}$/);
        if (answer.status === 401 && caller.renew && isForCallers && !isOdd) await caller.renew();
    }

    fits(operation, path) {
        try {
            return this.server.specification.operation(operation.method, path).template
                === operation.path;
        } catch {
            return false;
        }
    }

    learn(value, operation, caller, status) {
        if (Array.isArray(value)) {
            for (const item of value) this.learn(item, operation, caller, status);
            return;
        }
        for (const [name, member] of Object.entries(value)) {
            if (member !== null && typeof member === 'object') {
                this.learn(member, operation, caller, status);
            } else if (typeof member === 'string' || typeof member === 'number') {
                this.note(name, member, operation, caller, status);
            }
        }
    }

    note(name, value, operation, caller, status) {
        const values = this.pool.get(name) ?? [];
        this.pool.set(name, values);
        if (!values.includes(value)) {
            if (values.length >= poolMax) values.splice(this.dice.below(values.length), 1);
            values.push(value);
        }
        if (!ownIds.has(name)) return;
        const owner = this.owners.get(value);
        if (!owner && status === 201 && !caller.admin) this.owners.set(value, caller);
        assert.ok(!owner || owner === caller || caller.admin || operation.tags.includes('catalog'),
            `${name} ${value} is ${owner?.name}'s`);
        assert.notEqual(this.gone.get(value), operation.path, `${name} ${value} was deleted`);
    }

    // What was deleted by "…/things/{id}" is not in "…/things" again.
    forget(operation, path) {
        const match = operation.path.match(/^(.*)\/\{(id|binding_id)\}$/);
        if (match) this.gone.set(decodeURIComponent(path.split('?')[0].split('/').at(-1)), match[1]);
    }
}

function encode(value) {
    return encodeURIComponent(String(value).toWellFormed?.() ?? String(value).replace(/[\ud800-\udfff]/g, ''));
}
