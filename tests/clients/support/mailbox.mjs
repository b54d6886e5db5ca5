// Where the server's mail arrives: a real SMTP server that keeps what it is given, or, for long runs
// that are about something else, the folder that the server writes to.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { until } from './wait.mjs';

const keptMax = 1000; // mails of a folder that nobody has asked for

// Without options it is one without TLS and without names, which takes everything.
export async function startMailbox(test, { port = 0, ...options } = {}) {
    const mailbox = new Mailbox(options);
    await mailbox.listen(port);
    test.after(() => mailbox.close());
    return mailbox;
}

export function openMailFolder(test) {
    const mailbox = new MailFolder();
    test.after(() => rmSync(mailbox.folder, { recursive: true }));
    return mailbox;
}

class Mails {
    mails = [];

    // Takes out the first that fits, if there is one.
    take(fits) {
        const place = this.mails.findIndex(fits);
        return place < 0 ? undefined : this.mails.splice(place, 1)[0];
    }

    // Waits for the next mail to this address whose subject matches, and takes it out.
    next(to, subject = /./) {
        return until(`mail to ${to}`, () =>
            this.take((mail) => mail.to.includes(to) && subject.test(mail.subject)));
    }

    // The six digits of the next mail that has some; mail about changes of the account has none.
    async nextCode(to) {
        return codeIn(await this.next(to, /code$/));
    }
}

class MailFolder extends Mails {
    folder = mkdtempSync(join(tmpdir(), 'berth-mail-'));

    async take(fits) {
        for (const name of readdirSync(this.folder).filter((it) => it.endsWith('.eml')).sort()) {
            const place = join(this.folder, name);
            const raw = readFileSync(place, 'utf8');
            rmSync(place);
            const value = (field) => raw.match(new RegExp(`^${field}: (.*)$`, 'm'))[1];
            this.mails.push({ to: [value('To')], subject: value('Subject'), raw });
        }
        if (this.mails.length > keptMax) this.mails.splice(0, this.mails.length - keptMax);
        const taken = super.take(fits);
        return taken && { ...taken, text: (await simpleParser(taken.raw)).text };
    }
}

class Mailbox extends Mails {
    constructor(options) {
        super();
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
}

export function codeIn(mail) {
    return mail.text.match(/: (\d{6})$/m)[1];
}

export function linkIn(mail) {
    return new URL(mail.text.match(/^https?:\S+$/m)[0]);
}
