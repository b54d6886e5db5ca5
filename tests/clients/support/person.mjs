// What a person does in most tests: sign in with the mailed code, and confirm with another.
import { Browser, good } from './client.mjs';

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
