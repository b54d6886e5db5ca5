// People sign in by mail, enroll an authenticator and make keys, as a browser does it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Browser, Program, good, refused } from './support/client.mjs';
import { codeIn, linkIn, startMailbox } from './support/mailbox.mjs';
import { signIn, stepUpByMail, totpCode } from './support/person.mjs';
import { startServer } from './support/server.mjs';

const email = 'ada@example.org';

async function startAll(t) {
    const mailbox = await startMailbox(t);
    return { mailbox, server: await startServer(t, { mail: `smtp://127.0.0.1:${mailbox.port}` }) };
}

// Confirms with the code of the step before, so that the present one is left for a step-up: a step
// is used once. Where a step ends just in between, that code is too old, and the next one is not.
async function enroll(browser, mailbox) {
    await stepUpByMail(browser, mailbox, 'account-sensitive');
    const enrollment = good(await browser.post('/api/v1/account/mfa/totp'), 201);
    const { enrollment_id, secret } = enrollment;
    const confirm = () => browser.post('/api/v1/account/mfa/totp/confirm',
        { enrollment_id, code: totpCode(secret, 1) });
    let answer = await confirm();
    if (answer.status === 403) answer = await confirm();
    return { ...enrollment, ...good(answer, 200) };
}

test('the mailed code signs in, once', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = new Browser(server);
    good(await browser.post('/api/v1/auth/email/start', { email: 'Ada@Example.org' }), 202);
    const mail = await mailbox.next(email);
    assert.match(mail.subject, /sign-in code/);
    assert.doesNotMatch(mail.subject, /\d{6}/);
    assert.ok(mail.text.includes(server.origin));
    const code = codeIn(mail);

    const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0');
    const verify = (given) => browser.post('/api/v1/auth/email/verify', { email, code: given });
    refused(await verify(wrong), 403, 'AUTHORIZATION_INVALID');
    const signedIn = good(await verify(code), 200);
    assert.equal(signedIn.role, 'renter');
    assert.equal(signedIn.mfa_required, false);
    refused(await verify(code), 403, 'AUTHORIZATION_INVALID');

    const session = good(await browser.get('/api/v1/auth/session'), 200);
    assert.equal(session.account_id, signedIn.account_id);
    assert.equal(session.account_kind, 'human');
    assert.equal(session.email, email);
    assert.equal(session.credential, 'session');
    assert.equal(session.csrf_token, signedIn.csrf_token);
    assert.equal(session.mfa_enrolled, false);
});

test('the mailed link leads to a page, and its token signs in, once', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = new Browser(server);
    good(await browser.post('/api/v1/auth/email/start', { email }), 202);
    const link = linkIn(await mailbox.next(email));
    assert.equal(link.origin, server.origin);
    const page = await browser.get(link.pathname);
    assert.match(page.text, /<script type="module"[^>]* src="\/assets\//, 'the console, which shows a button');

    const verify = () => browser.post('/api/v1/auth/email/verify', { token: link.hash.slice(1) });
    good(await verify(), 200);
    assert.equal(good(await browser.get('/api/v1/auth/session'), 200).email, email);
    refused(await verify(), 403, 'AUTHORIZATION_INVALID');
});

test('signing in again is the same account, and signing out ends the session', async (t) => {
    const { server, mailbox } = await startAll(t);
    const first = await signIn(server, mailbox, email);
    const second = await signIn(server, mailbox, email);
    assert.equal(second.accountId, first.accountId);
    const { cookie } = first;
    good(await first.post('/api/v1/auth/sign-out'), 204);
    assert.equal(first.cookie, undefined);
    first.cookie = cookie;
    refused(await first.get('/api/v1/auth/session'), 401, 'UNAUTHENTICATED');
    good(await second.get('/api/v1/auth/session'), 200);
});

test('a session works in its own browser and for its own pages only', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await signIn(server, mailbox, email);
    // The same browser, but for these changes.
    const signOut = (changes) => Object.assign(Object.create(browser), changes)
        .post('/api/v1/auth/sign-out');
    refused(await signOut({ csrfToken: undefined }), 403, 'FORBIDDEN');
    refused(await signOut({ csrfToken: browser.csrfToken.toLowerCase() + 'x' }), 403, 'FORBIDDEN');
    refused(await signOut({ origin: 'https://elsewhere.example' }), 403, 'FORBIDDEN');
    refused(await signOut({ userAgent: 'Another/1.0' }), 401, 'UNAUTHENTICATED');
    refused(await signOut({ cookie: undefined }), 401, 'UNAUTHENTICATED');
    good(await signOut({}), 204);
});

test('an authenticator is enrolled, confirms a change, and guards the next sign-in', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await signIn(server, mailbox, email);
    const before = browser.cookie;
    const { secret, otpauth_uri, recovery_codes } = await enroll(browser, mailbox);
    assert.notEqual(browser.cookie, before);
    assert.equal(recovery_codes.length, 10);
    const uri = new URL(otpauth_uri);
    assert.equal(`${uri.protocol}//${uri.host}`, 'otpauth://totp');
    assert.equal(uri.searchParams.get('secret'), secret);
    assert.ok(decodeURIComponent(uri.pathname).endsWith(`:${email}`));
    assert.equal(good(await browser.get('/api/v1/auth/session'), 200).mfa_enrolled, true);

    const stepUp = (code) => browser.post('/api/v1/account/step-up',
        { purpose: 'account-sensitive', code });
    const code = totpCode(secret);
    const grant = good(await stepUp(code), 200);
    assert.equal(grant.purpose, 'account-sensitive');
    refused(await stepUp(code), 403, 'AUTHORIZATION_INVALID');
    refused(await browser.post('/api/v1/account/step-up/code'), 409, 'CONFLICT');

    const again = new Browser(server);
    good(await again.post('/api/v1/auth/email/start', { email }), 202);
    const mailed = await mailbox.nextCode(email);
    const half = good(await again.post('/api/v1/auth/email/verify', { email, code: mailed }), 200);
    assert.equal(half.mfa_required, true);
    assert.equal(good(await again.get('/api/v1/auth/session'), 200).mfa_required, true);
    refused(await again.get('/api/v1/wallets'), 403, 'FORBIDDEN');
    refused(await again.post('/api/v1/auth/mfa', { code }), 403, 'AUTHORIZATION_INVALID');
    const recovery = { code: recovery_codes[3] };
    assert.equal(good(await again.post('/api/v1/auth/mfa', recovery), 200).mfa_required, false);
    good(await again.get('/api/v1/wallets'), 200);
});

test('a key is made, used, listed and revoked', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await signIn(server, mailbox, email);
    const order = { name: 'laptop', scopes: ['renter'] };
    const keys = '/api/v1/account/api-keys';
    refused(await browser.post(keys, order), 403, 'FORBIDDEN');
    const { secret: totp } = await enroll(browser, mailbox);
    good(await browser.post('/api/v1/account/step-up',
        { purpose: 'account-sensitive', code: totpCode(totp) }), 200);

    const key = good(await browser.post(keys, order), 201);
    assert.equal(key.name, 'laptop');
    assert.equal(key.expires_at, null);
    assert.equal(key.last_used_at, null);
    assert.equal(key.prefix, key.secret.slice(0, 12));

    const program = new Program(server, key.secret);
    const session = good(await program.get('/api/v1/auth/session'), 200);
    assert.equal(session.account_id, browser.accountId);
    assert.equal(session.credential, 'api_key');
    assert.equal(session.csrf_token, null);
    assert.deepEqual(good(await program.get('/api/v1/wallets'), 200).items, []);
    refused(await program.post(keys, order), 403, 'FORBIDDEN');

    const listed = good(await browser.get(`${keys}?limit=10`), 200);
    assert.deepEqual(listed.items.map((item) => item.key_id), [key.key_id]);
    assert.ok(listed.items[0].last_used_at);
    assert.equal(listed.items[0].secret, undefined);

    good(await browser.delete(`${keys}/${key.key_id}`), 204);
    refused(await program.get('/api/v1/auth/session'), 401, 'UNAUTHENTICATED');
    refused(await browser.delete(`${keys}/${key.key_id}`), 404, 'NOT_FOUND');
    assert.deepEqual(good(await browser.get(keys), 200).items, []);
});

test('an account without an authenticator confirms with a mailed code', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await signIn(server, mailbox, email);
    const order = { name: 'laptop', scopes: ['renter', 'host'] };
    await stepUpByMail(browser, mailbox, 'wallet');
    refused(await browser.post('/api/v1/account/api-keys', order), 403, 'FORBIDDEN');
    await stepUpByMail(browser, mailbox, 'account-sensitive');
    good(await browser.post('/api/v1/account/api-keys', order), 201);
});
