// A real SMTP server that keeps what it is given.
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { until } from './wait.mjs';

// Without options it is one without TLS and without names, which takes everything.
export async function startMailbox(test, { port = 0, ...options } = {}) {
    const mailbox = new Mailbox(options);
    await mailbox.listen(port);
    test.after(() => mailbox.close());
    return mailbox;
}

class Mailbox {
    mails = [];

    constructor(options) {
        const plain = { disabledCommands: ['STARTTLS', 'AUTH'] };
        this.server = new SMTPServer({
            ...(options.key ? options : plain),
            onData: (stream, session, done) => {
                this.keep(stream, session).then(() => done(), done);
            },
        });
        this.server.on('error', () => {}); // a client that hangs up; the test sees no mail then
    }

    async keep(stream, session) {
        const mail = await simpleParser(stream);
        this.mails.push({
            from: session.envelope.mailFrom.address,
            to: session.envelope.rcptTo.map((recipient) => recipient.address),
            secure: session.secure,
            user: session.user,
            subject: mail.subject,
            text: mail.text,
            header: (name) => mail.headers.get(name),
        });
    }

    listen(port) {
        return new Promise((resolve, reject) => {
            this.server.once('error', reject);
            this.server.listen(port, '127.0.0.1', () => {
                this.port = this.server.server.address().port;
                resolve();
            });
        });
    }

    close() {
        return new Promise((resolve) => this.server.close(resolve));
    }

    // Waits for the next mail to this address whose subject matches, and takes it out.
    next(to, subject = /./) {
        return until(`mail to ${to}`, () => {
            const place = this.mails.findIndex(
                (mail) => mail.to.includes(to) && subject.test(mail.subject));
            return place < 0 ? undefined : this.mails.splice(place, 1)[0];
        });
    }

    // The six digits of the next mail that has some; mail about changes of the account has none.
    async nextCode(to) {
        return codeIn(await this.next(to, /code$/));
    }
}

export function codeIn(mail) {
    return mail.text.match(/: (\d{6})$/m)[1];
}

export function linkIn(mail) {
    return new URL(mail.text.match(/^https?:\S+$/m)[0]);
}
