// Another address to sign in by: a code goes to the new one.
import { useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Button, CodeInput, Failure, Field, Panel, TextInput, toast } from '../../kit';
import { sessionChanged, useSession } from '../../session';

export function ChangeEmail() {
    const session = useSession();
    const [email, setEmail] = useState('');
    const [asked, setAsked] = useState<string>();
    return <Panel title="Mail address">
        <p class="soft">You sign in by <strong>{session?.email ?? 'no address'}</strong>.</p>
        {asked === undefined
            ? <AskNew email={email} setEmail={setEmail} onSent={() => setAsked(email.trim())} />
            : <Confirm email={asked} onBack={() => setAsked(undefined)}
                onDone={() => { setAsked(undefined); setEmail(''); }} />}
    </Panel>;
}

function AskNew({ email, setEmail, onSent }: {
    email: string; setEmail: (text: string) => void; onSent: () => void;
}) {
    const ask = useChange('ask_new_email', { done: onSent });
    const told = fieldError(ask.error, 'body.email');
    function give(event: Event) {
        event.preventDefault();
        void ask.run({ body: { email: email.trim() } });
    }
    return <form class="stack" onSubmit={give} noValidate>
        <Field label="New address" error={told} hint="We mail a code to it. Other sessions end when it is changed.">
            {(ids) => <div class="inline">
                <TextInput {...ids} type="email" inputMode="email" autoComplete="email" value={email}
                    onInput={setEmail} />
                <Button type="submit" busy={ask.busy} disabled={!email.includes('@')}>Mail a code</Button>
            </div>}
        </Field>
        {ask.error && !told && <Failure error={ask.error} />}
    </form>;
}

function Confirm({ email, onBack, onDone }: { email: string; onBack: () => void; onDone: () => void }) {
    const [code, setCode] = useState('');
    const confirm = useChange('confirm_new_email', {
        done: () => { sessionChanged(); toast(`You sign in by ${email} now.`); onDone(); } });
    const isWrong = confirm.error?.code === 'AUTHORIZATION_INVALID';
    const told = fieldError(confirm.error, 'body.code');
    function give(event: Event) {
        event.preventDefault();
        void confirm.run({ body: { email, code } });
    }
    return <form class="stack" onSubmit={give}>
        <Field label={`Code we mailed to ${email}`}
            error={isWrong ? 'That code is wrong or too old.' : told}>
            {(ids) => <CodeInput {...ids} value={code} onInput={setCode} autoFocus />}
        </Field>
        {confirm.error && !isWrong && !told && <Failure error={confirm.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={confirm.busy} disabled={code.length !== 6}>Change it</Button>
            <Button kind="quiet" onClick={onBack}>Another address</Button>
        </div>
    </form>;
}
