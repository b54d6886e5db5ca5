// openapi.json tells whoever reads it enough: for each operation whom it is for, which credential it
// wants, what goes in and comes out, and when it fails.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { Specification } from './support/specification.mjs';

const audiences = ['public', 'renter', 'host', 'agent', 'operator'];
const document = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
const specification = new Specification(document);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })));

function forEach(check) {
    for (const operation of operations) {
        try {
            check(operation);
        } catch (error) {
            error.message = `${operation.method} ${operation.path}: ${error.message}`;
            throw error;
        }
    }
}

function pointer(...names) {
    return `openapi#/${names.map((name) => encodeURIComponent(
        String(name).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
}

// One, or several by name, of which those that many share are kept in one place.
function examplesOf({ example, examples = {} }) {
    if (example !== undefined) return [example];
    return Object.values(examples).map((each) => (each.$ref
        ? document.components.examples[each.$ref.split('/').at(-1)] : each).value);
}

const validators = new Map(); // the same schema stands in many places

function isValid(value, ...place) {
    const schema = JSON.stringify(place.reduce((at, name) => at[name], document));
    const validate = validators.get(schema) ?? specification.ajv.getSchema(pointer(...place));
    validators.set(schema, validate);
    assert.ok(validate(value), `${place.join(' ')}: ${specification.ajv.errorsText(validate.errors)}`);
}

test('every operation has an audience, a summary, and says what credential it wants', () => {
    assert.deepEqual(document.tags.map((tag) => tag.name), audiences);
    for (const { description } of document.tags) assert.match(description, /^[A-Z].+\.$/);
    forEach(({ tags, summary, description, security, path }) => {
        assert.ok(tags.length > 0);
        for (const tag of tags) assert.ok(audiences.includes(tag), tag);
        assert.match(summary, /^[A-Z].+[.?]$/);
        assert.ok(Array.isArray(security));
        const wanted = security.flatMap((it) => Object.keys(it));
        for (const name of wanted) assert.ok(document.components.securitySchemes[name], name);
        if (!wanted.length) assert.match(description, /^Anyone may call this/);
        if (wanted.includes('apiKey')) assert.match(description, /API key/);
        if (wanted.includes('apiKey')) assert.ok(tags.includes('renter') || tags.includes('host'));
        if (wanted.includes('hostAgent')) assert.deepEqual(tags, ['agent']);
        if (path.includes('/admin/')) assert.deepEqual([tags, wanted], [['operator'], ['session']]);
        if (/scope renter/.test(description)) assert.deepEqual(tags, ['renter']);
        if (/scope host/.test(description)) assert.deepEqual(tags, ['host']);
    });
});

test('every body has an example that its schema takes', () => {
    forEach(({ path, method, requestBody, responses, parameters = [] }) => {
        const bodies = [['requestBody', requestBody],
            ...Object.keys(responses).map((status) => [`responses/${status}`, responses[status]])];
        for (const [name, holder] of bodies) {
            const content = holder?.content?.['application/json'];
            if (!content) continue;
            const examples = examplesOf(content);
            assert.ok(examples.length > 0, `${name} has no example`);
            for (const example of examples)
                isValid(example, 'paths', path, method, ...name.split('/'), 'content',
                    'application/json', 'schema');
        }
        parameters.forEach((parameter, i) => {
            if (parameter.in === 'path') assert.ok(parameter.example !== undefined, parameter.name);
            if (parameter.example === undefined) return;
            isValid(parameter.example, 'paths', path, method, 'parameters', i, 'schema');
        });
    });
});

test('every error says its code and when it occurs', () => {
    forEach(({ responses, security }) => {
        const failures = Object.entries(responses).filter(([status, { content }]) =>
            /^[45]\d\d$/.test(status) && examplesOf(content?.['application/json'] ?? {}).some(({ error }) => error));
        assert.ok(failures.length > 0);
        for (const [, { description }] of failures) {
            assert.match(description, /^([A-Z_]{4,}: [^.]{10,}\.( |$))+$/);
        }
        assert.ok(responses[422] || responses[413]);
        if (security.length) assert.match(responses[401].description, /^UNAUTHENTICATED: /);
    });
});
