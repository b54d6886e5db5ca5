// The server's own openapi.json, as a judge of its answers.
import assert from 'node:assert/strict';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export class Specification {
    static async of(origin) {
        const answer = await fetch(`${origin}/openapi.json`);
        return new Specification(await answer.json());
    }

    constructor(document) {
        this.document = document;
        this.ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
        addFormats(this.ajv);
        // What is no JSON Schema; the rest stays strict.
        const own = new Set(JSON.stringify(document).match(/(?<=")x-[a-z-]+(?=":)/g));
        this.ajv.addVocabulary([...Object.keys(document), ...own, 'discriminator']);
        this.ajv.addSchema(document, 'openapi');
        this.templates = Object.keys(document.paths).map((template) => [template, template.split('/')]);
        this.validators = new Map(); // by the place of their schema
    }

    // The declaration of a route, with its `template`; the path may have a query.
    operation(method, path) {
        const parts = path.split('?')[0].split('/');
        const fits = ([, names]) => names.length === parts.length &&
            names.every((name, i) => name === parts[i] || (name.startsWith('{') && parts[i]));
        const template = this.templates.find(fits)?.[0];
        const operation = this.document.paths[template]?.[method.toLowerCase()];
        assert.ok(operation, `${method} ${path} is not in openapi.json`);
        return { ...operation, template };
    }

    takesIdempotencyKey(method, path) {
        return (this.operation(method, path).parameters ?? [])
            .some((parameter) => parameter.$ref === '#/components/parameters/IdempotencyKey');
    }

    // Fails unless status, content type and body are declared for this route.
    check(method, path, answer) {
        this.checkAs(this.operation(method, path).template, method, answer, path);
    }

    // The same, where the route is known.
    checkAs(template, method, answer, path) {
        const wrong = this.wrongIn(template, method.toLowerCase(), answer);
        assert.ok(!wrong, `${wrong}: ${method} ${path}: ${answer.status} ${answer.text.slice(0, 2000)}`);
    }

    // What is wrong with the answer, if something is.
    wrongIn(template, method, { status, headers, text, body }) {
        const { responses } = this.document.paths[template][method];
        if (!responses[status]) return 'not a declared status';
        if (!headers.get('x-request-id')) return 'no X-Request-Id';
        const content = responses[status].content;
        if (!content) return text === '' ? undefined : 'a body that is not declared';
        const given = headers.get('content-type')?.split(';')[0];
        const type = content[given] ? given : '*/*';
        if (!content[type]) return `not a declared content type, ${given}`;
        const validate = this.validator(template, method, String(status), type);
        if (!validate(type === 'application/json' ? body : text)) {
            return this.ajv.errorsText(validate.errors);
        }
        if (!body?.error) return undefined;
        if (body.error.request_id !== headers.get('x-request-id')) return 'another request_id';
        // "CODE: when it occurs. CODE: when it occurs."
        const codes = responses[status].description.match(/\b[A-Z_]{4,}(?=:)/g);
        return codes?.includes(body.error.code) ? undefined : 'not a declared code';
    }

    validator(template, method, status, type) {
        const place = ['paths', template, method, 'responses', status, 'content', type, 'schema'];
        const name = place.join(' ');
        if (!this.validators.has(name)) {
            this.validators.set(name, this.ajv.getSchema(`openapi#/${place.map(escaped).join('/')}`));
        }
        return this.validators.get(name);
    }
}

// A name as a part of a JSON pointer in an address.
function escaped(name) {
    return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
