// What a person does in most tests: sign in with the mailed code, and confirm with another.
import { setTimeout as pause } from 'node:timers/promises';
import otplib from 'otplib';
import { Browser, good } from './client.mjs';

const stepMilliseconds = 30_000;

export async function signIn(server, mailbox, email) {
    const browser = new Browser(server);
    good(await browser.post('/api/v1/auth/email/start', { email }), 202);
    const code = await mailbox.nextCode(email);
    const session = good(await browser.post('/api/v1/auth/email/verify', { email, code }), 200);
    return Object.assign(browser, { email, accountId: session.account_id });
}

// For an account without an authenticator.
export async function stepUpByMail(browser, mailbox, purpose) {
    good(await browser.post('/api/v1/account/step-up/code'), 202);
    const code = await mailbox.nextCode(browser.email);
    return good(await browser.post('/api/v1/account/step-up', { purpose, code }), 200);
}

// What an authenticator shows now, or showed some steps of thirty seconds ago.
export function totpCode(secret, stepsAgo = 0) {
    const epoch = Date.now() - stepsAgo * stepMilliseconds;
    return otplib.authenticator.clone({ epoch }).generate(secret);
}

// Gives the account an authenticator; answers what gives the next code, each of which is good once.
export async function addAuthenticator(browser, mailbox) {
    await stepUpByMail(browser, mailbox, 'account-sensitive');
    const { enrollment_id, secret } = good(await browser.post('/api/v1/account/mfa/totp'), 201);
    const confirm = () => browser.post('/api/v1/account/mfa/totp/confirm',
        { enrollment_id, code: totpCode(secret, 1) });
    let confirmed = await confirm();
    if (confirmed.status === 403) confirmed = await confirm(); // the step ended in between
    good(confirmed, 200);
    const stepNow = () => Math.floor(Date.now() / stepMilliseconds);
    let usedStep = 0;
    return async () => {
        while (stepNow() <= usedStep) await pause(stepMilliseconds - Date.now() % stepMilliseconds);
        usedStep = stepNow();
        return totpCode(secret);
    };
}

// A new admin, whose session has an authenticator and a fresh grant; `createAdmin` runs berthd. Each
// grant changes the cookie.
export async function signInAdmin(server, mailbox, email, createAdmin) {
    await createAdmin(email);
    const browser = await signIn(server, mailbox, email);
    const nextCode = await addAuthenticator(browser, mailbox);
    browser.grant = async () => good(await browser.post('/api/v1/account/step-up',
        { purpose: 'admin-sensitive', code: await nextCode() }), 200);
    browser.signInAgain = async () => {
        Object.assign(browser, await signIn(server, mailbox, email));
        good(await browser.post('/api/v1/auth/mfa', { code: await nextCode() }), 200);
    };
    await browser.grant();
    return browser;
}
