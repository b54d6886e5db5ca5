// A step-up in place: the sheet of the action waits, a code is asked for, the same request goes on.
import { BerthError } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { client } from './api';
import { Button, Field, Sheet, TextInput } from './kit';
import { sessionChanged, useSession } from './session';

interface Asked { purpose: string; granted: Promise<boolean>; settle: (granted: boolean) => void }
let show: ((asked: Asked) => void) | undefined;
let open: Asked | undefined;

/** True once the session may; false when the person would rather not. All who ask for the same wait for the one
 * sheet; another purpose takes its place. */
export function askStepUp(purpose: string): Promise<boolean> {
    if (open?.purpose === purpose) return open.granted;
    open?.settle(false);
    if (!show) return Promise.resolve(false);
    let settle: Asked['settle'] = () => {};
    const granted = new Promise<boolean>((settled) => { settle = settled; });
    open = { purpose, granted, settle };
    show(open);
    return granted;
}

export function StepUpSheet() {
    const [asked, setAsked] = useState<Asked>();
    useEffect(() => {
        show = setAsked;
        return () => { show = undefined; };
    }, []);
    if (!asked) return null;
    const end = (granted: boolean) => {
        open = undefined;
        setAsked(undefined);
        asked.settle(granted);
    };
    return <Sheet title="Confirm that it is you" open onClose={() => end(false)}>
        <StepUpForm key={asked.purpose} purpose={asked.purpose} onDone={() => end(true)} onCancel={() => end(false)} />
    </Sheet>;
}

function StepUpForm({ purpose, onDone, onCancel }: { purpose: string; onDone: () => void; onCancel: () => void }) {
    const session = useSession();
    const byMail = session ? !session.mfa_enrolled : false;
    const [code, setCode] = useState('');
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<string>();
    useEffect(() => {
        if (byMail) client.call('send_step_up_code').catch((fault: BerthError) => setError(fault.message));
    }, [byMail]);

    async function give(event: Event) {
        event.preventDefault();
        setBusy(true);
        setError(undefined);
        try {
            await client.call('step_up', { body: { purpose, code: code.replaceAll(' ', '') } as never });
            sessionChanged();
            onDone();
        } catch (fault) {
            const isWrong = fault instanceof BerthError && (fault.status === 403
                || (fault.status === 401 && fault.code !== 'UNAUTHENTICATED'));
            setError(isWrong ? 'That code is wrong or used. Wait for the next.' : String((fault as Error).message));
            setBusy(false);
        }
    }

    return <form class="stack" onSubmit={(event) => void give(event)}>
        <Field label={byMail ? 'Code we mailed to you' : 'Code of your authenticator'} error={error}
            hint={byMail ? `It went to ${session ? session.email ?? 'your address' : 'your address'}.`
                : 'Six digits, or one of your recovery codes.'}>
            {(ids) => <TextInput {...ids} value={code} onInput={setCode} inputMode="numeric"
                autoComplete="one-time-code" autoFocus mono />}
        </Field>
        <div class="actions">
            <Button kind="primary" type="submit" busy={busy} disabled={code.trim().length < 6}>Confirm</Button>
            <Button onClick={onCancel}>Not now</Button>
        </div>
    </form>;
}
