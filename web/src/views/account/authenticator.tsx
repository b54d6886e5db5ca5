// The authenticator: turned on by a QR code and six digits, recovery codes shown once.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Countdown } from '../../format';
import { Badge, Button, Code, CodeInput, Failure, Field, Notice, Panel, Qr, Sheet, toast } from '../../kit';
import { sessionChanged, useSession } from '../../session';
import { saveAs } from '../../save';
import { Ask } from './ask';
import { Secret, useSecret } from './secret';

type Begun = Answer<'begin_totp'>;

export function Authenticator() {
    const session = useSession();
    const [begun, setBegun] = useSecret<Begun>();
    const [codes, setCodes] = useSecret<string[]>();
    const [isRemoving, setIsRemoving] = useState(false);
    const begin = useChange('begin_totp', { done: setBegun });
    const isOn = session?.mfa_enrolled === true;
    return <Panel title="Authenticator" aside={isOn ? <Badge tone="go">On</Badge> : <Badge tone="lamp">Off</Badge>}>
        <p class="soft">{isOn
            ? 'Signing in, and whatever moves money or keys, asks for a code of your app.'
            : 'An app on your phone that shows six digits. With it nobody gets in with your mail alone.'}</p>
        {codes && <RecoveryCodes codes={codes} onDone={() => setCodes(undefined)} />}
        {begin.error && <Failure error={begin.error} />}
        <div class="actions">
            {isOn ? <Button kind="danger" onClick={() => setIsRemoving(true)}>Turn it off</Button>
                : <Button kind="primary" busy={begin.busy} onClick={() => void begin.run({})}>Turn it on</Button>}
        </div>
        <Sheet title="Turn the authenticator on" open={begun !== undefined} onClose={() => setBegun(undefined)}>
            {begun && <Confirm begun={begun} onDone={(found) => { setBegun(undefined); setCodes(found); }} />}
        </Sheet>
        {isRemoving && <Remove onClose={() => setIsRemoving(false)} />}
    </Panel>;
}

function Confirm({ begun, onDone }: { begun: Begun; onDone: (codes: string[]) => void }) {
    const [code, setCode] = useState('');
    const confirm = useChange('confirm_totp', {
        done: ({ recovery_codes }) => {
            sessionChanged();
            onDone(recovery_codes.filter((each): each is string => each !== null));
        },
    });
    const isWrong = confirm.error?.code === 'AUTHORIZATION_INVALID';
    function give(event: Event) {
        event.preventDefault();
        void confirm.run({ body: { enrollment_id: begun.enrollment_id, code } });
    }
    if (!begun.otpauth_uri || !begun.secret) {
        return <Notice tone="lamp" title="The line broke in between">Close this and turn it on again.</Notice>;
    }
    return <form class="stack" onSubmit={give}>
        <div class="pay">
            <Qr text={begun.otpauth_uri} label="The key of the authenticator as a QR code" />
            <div class="tight">
                <p>Scan it with your app, or type this key into it:</p>
                <Secret text={begun.secret} label="the key of the authenticator" />
                <p class="small muted">Good for another <Countdown until={begun.expires_at} />.</p>
            </div>
        </div>
        <Field label="The six digits it shows now"
            error={isWrong ? 'That code is wrong or used. Wait for the next.' : fieldError(confirm.error, 'body.code')}>
            {(ids) => <CodeInput {...ids} value={code} onInput={setCode} />}
        </Field>
        {confirm.error && !isWrong && !fieldError(confirm.error, 'body.code') && <Failure error={confirm.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={confirm.busy} disabled={code.length !== 6}>Turn it on</Button>
        </div>
    </form>;
}

function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
    const text = codes.join('\n');
    const [isShown, setIsShown] = useState(false);
    return <Notice tone="lamp" role="status" title="Keep these recovery codes" actions={<>
        <Button onClick={() => saveAs('recovery-codes.txt', new Blob([`${text}\n`], { type: 'text/plain' }))}>
            Download
        </Button>
        <Button kind="primary" onClick={onDone}>I have kept them</Button>
    </>}>
        <div class="tight">
            <p>Each works once in place of the app, when the phone is gone. They are shown now and never again.</p>
            {isShown ? <Code text={text} label="the recovery codes" />
                : <div><Button small onClick={() => setIsShown(true)}>Show them</Button></div>}
        </div>
    </Notice>;
}

function Remove({ onClose }: { onClose: () => void }) {
    const remove = useChange('remove_totp', {
        done: () => { onClose(); sessionChanged(); toast('The authenticator is off.'); } });
    return <Ask title="Turn the authenticator off?" action="Turn it off" keep="Keep it" busy={remove.busy}
        error={remove.error} onClose={onClose} onDo={() => void remove.run({})}>
        <p>Codes come by mail from then on: whoever reads your mail gets in. The recovery codes end, too.</p>
    </Ask>;
}
