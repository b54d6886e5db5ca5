// The end of an account: what stands in the way, what stays, and the last question.
import { useState } from 'preact/hooks';
import { useChange, useRead } from '../../api';
import { When } from '../../format';
import { Async, Button, Check, Field, Notice, Panel, TextInput, toast } from '../../kit';
import { sessionChanged } from '../../session';
import { Ask } from './ask';

export function Closing() {
    const read = useRead('show_closing');
    const [isAsked, setIsAsked] = useState(false);
    return <Panel title="Close the account">
        <Async read={read} rows={2}>{(data) => {
            if (data.closed_at) {
                return <p>It was closed <When at={data.closed_at} />
                    {data.erase_at && <>, and its owner is forgotten <When at={data.erase_at} /></>}.</p>;
            }
            if (data.obstacles.length > 0) {
                return <>
                    <p class="soft">It can be closed once this is done:</p>
                    <ul class="tight">{data.obstacles.map(({ code, message }) => <li key={code}>{message}</li>)}</ul>
                </>;
            }
            return <>
                <p class="soft">It is empty: nothing stands in the way.</p>
                <div class="actions"><Button kind="danger" onClick={() => setIsAsked(true)}>Close it</Button></div>
                {isAsked && <Close stays={data.stays} onClose={() => setIsAsked(false)} />}
            </>;
        }}</Async>
    </Panel>;
}

function Close({ stays, onClose }: { stays: { what: string; why: string }[]; onClose: () => void }) {
    const [erase, setErase] = useState(false);
    const [word, setWord] = useState('');
    const close = useChange('close_account', {
        done: ({ consequence }) => { onClose(); toast(consequence); sessionChanged(); } });
    return <Ask title="Close this account?" action={erase ? 'Close it and forget me' : 'Close it'} keep="Keep it"
        busy={close.busy} error={close.error} disabled={word.trim().toLowerCase() !== 'close'} onClose={onClose}
        onDo={() => void close.run({ body: { erase } })}>
        <p>Keys, sessions and webhooks end at once. Nobody can sign in to it any more.</p>
        <Check checked={erase} onChange={setErase} label="Also forget who I am"
            hint="After a while that the service names; until then support can undo it." />
        {erase && stays.length > 0 && <Notice title="What stays, and why">
            <ul class="tight">{stays.map(({ what, why }) => <li key={what}>{what}: {why}</li>)}</ul>
        </Notice>}
        <Field label="Write “close” to go on">
            {(ids) => <TextInput {...ids} value={word} onInput={setWord} />}
        </Field>
    </Ask>;
}
