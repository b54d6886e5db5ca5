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
    }

    // The declaration of a route, with its `template`; the path may have a query.
    operation(method, path) {
        const parts = path.split('?')[0].split('/');
        const fits = (template) => {
            const names = template.split('/');
            return names.length === parts.length &&
                names.every((name, i) => name === parts[i] || (name.startsWith('{') && parts[i]));
        };
        const template = Object.keys(this.document.paths).find(fits);
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
    checkAs(template, method, { status, headers, text, body }, path) {
        const { responses } = this.document.paths[template][method.toLowerCase()];
        const what = `${method} ${path}: ${status} ${text.slice(0, 2000)}`;
        assert.ok(responses[status], `not a declared status: ${what}`);
        assert.ok(headers.get('x-request-id'), `no X-Request-Id: ${what}`);
        const content = responses[status].content;
        if (!content) return assert.equal(text, '', what);
        const given = headers.get('content-type')?.split(';')[0];
        const type = content[given] ? given : '*/*';
        assert.ok(content[type], `not a declared content type, ${given}: ${what}`);
        const place = ['paths', template, method.toLowerCase(), 'responses', String(status),
            'content', type, 'schema'];
        const validate = this.ajv.getSchema(`openapi#/${place.map(escaped).join('/')}`);
        const judged = type === 'application/json' ? body : text;
        assert.ok(validate(judged), `${what}\n${this.ajv.errorsText(validate.errors)}`);
        if (body?.error) {
            assert.equal(body.error.request_id, headers.get('x-request-id'), what);
            // "CODE: when it occurs. CODE: when it occurs."
            assert.ok(responses[status].description.match(/\b[A-Z_]{4,}(?=:)/g)
                ?.includes(body.error.code), `not a declared code: ${what}`);
        }
    }
}

// A name as a part of a JSON pointer in an address.
function escaped(name) {
    return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
