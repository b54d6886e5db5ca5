// Mail goes to a real SMTP server: over STARTTLS with a name and password, and only after checking
// who that server is; one that is down delays mail and loses none.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { Browser, good } from './support/client.mjs';
import { codeIn, linkIn, startMailbox } from './support/mailbox.mjs';
import { freePort, startServer } from './support/server.mjs';

const email = 'ada@example.org';
const user = 'berth@example.org';
const password = 'pass word/with:signs@100%';

// A certificate for localhost that signs itself.
async function makeCertificate(t) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-clients-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const [file, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
        '-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', file]);
    return { file, cert: await readFile(file), key: await readFile(keyFile) };
}

// It remembers in `signIns` who tried, and whether that was encrypted.
async function startSecureMailbox(t, { cert, key }, secure) {
    const signIns = [];
    const mailbox = await startMailbox(t, {
        cert, key, secure,
        onAuth: (given, session, done) => {
            signIns.push({ user: given.username, secure: session.secure });
            const known = given.username === user && given.password === password;
            if (known) done(null, { user });
            else done(new Error('who are you?'));
        },
    });
    return Object.assign(mailbox, { signIns });
}

// On this machine berthd uses STARTTLS only where it is told to.
function address(port, { secure = false, word = password } = {}) {
    const name = `${encodeURIComponent(user)}:${encodeURIComponent(word)}`;
    return secure ? `smtps://${name}@localhost:${port}`
        : `smtp://${name}@localhost:${port}?tls=required`;
}

async function askForCode(server) {
    const browser = new Browser(server);
    good(await browser.post('/api/v1/auth/email/start', { email }), 202);
    return browser;
}

for (const secure of [false, true]) {
    test(`mail goes over ${secure ? 'TLS' : 'STARTTLS'} with name and password`, async (t) => {
        const certificate = await makeCertificate(t);
        const mailbox = await startSecureMailbox(t, certificate, secure);
        const server = await startServer(t, {
            mail: address(mailbox.port, { secure }),
            flags: ['--mail-ca-file', certificate.file, '--mail-from', 'berth@example.org'],
        });
        const browser = await askForCode(server);
        const mail = await mailbox.next(email);
        assert.equal(mail.secure, true);
        assert.equal(mail.user, user);
        assert.equal(mail.from, 'berth@example.org');
        assert.equal(mail.header('from').value[0].address, 'berth@example.org');
        assert.equal(mail.header('to').value[0].address, email);
        assert.ok(Math.abs(mail.header('date') - Date.now()) < 60_000);
        assert.match(mail.header('message-id'), /^<\S+@\S+>$/);
        assert.equal(mail.header('auto-submitted'), 'auto-generated');
        const token = linkIn(mail).hash.slice(1);
        good(await browser.post('/api/v1/auth/email/verify', { token }), 200);
        assert.ok(!JSON.stringify(server.log).includes(token), 'a token is in the log');
    });
}

test('a mail server that nobody vouches for gets neither mail nor password', async (t) => {
    const mailbox = await startSecureMailbox(t, await makeCertificate(t));
    const server = await startServer(t, { mail: address(mailbox.port) });
    await askForCode(server);
    const failure = await server.logged('task_failed', { kind: 'send_mail' });
    assert.match(failure.why, /certificate/);
    assert.deepEqual(mailbox.mails, []);
    assert.deepEqual(mailbox.signIns, []);
});

test('a refused password is tried again and does not get into the log', async (t) => {
    const certificate = await makeCertificate(t);
    const mailbox = await startSecureMailbox(t, certificate);
    const server = await startServer(t, {
        mail: address(mailbox.port, { word: 'hunter2hunter2' }),
        flags: ['--mail-ca-file', certificate.file],
    });
    await askForCode(server);
    await server.logged('task_failed', { kind: 'send_mail', attempt: 2 });
    assert.deepEqual(mailbox.mails, []);
    assert.deepEqual(mailbox.signIns[0], { user, secure: true });
    assert.ok(!JSON.stringify(server.log).includes('hunter2'), 'a password is in the log');
});

test('mail for a server that is down arrives when it is up', async (t) => {
    const port = await freePort();
    const server = await startServer(t, { mail: `smtp://127.0.0.1:${port}` });
    const browser = await askForCode(server);
    await server.logged('task_failed', { kind: 'send_mail', attempt: 1 });
    const mailbox = await startMailbox(t, { port });
    const code = codeIn(await mailbox.next(email));
    good(await browser.post('/api/v1/auth/email/verify', { email, code }), 200);
});
