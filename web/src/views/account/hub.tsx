// The token of the model hub, for models that one must be let in to.
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { When } from '../../format';
import { Async, Badge, Button, Facts, Failure, Field, Panel, TextInput, toast } from '../../kit';
import { Ask } from './ask';

const path = { provider: 'huggingface' } as const;

export function Hub() {
    const read = useRead('show_integration', { path });
    const [isForgetting, setIsForgetting] = useState(false);
    return <Panel title="Hugging Face"
        footer="It is kept sealed, given to the machine of a rental that needs it, and never shown again.">
        <p class="soft">Some models are gated: their makers let you in on Hugging Face. With a token of yours, of the
            kind that only reads, such a model starts like any other.</p>
        <Async read={read} rows={2}>{(data) => <>
            <Facts items={[
                ['Token', data.set ? <span class="row"><span class="mono" aria-hidden="true">hf_••••••••••••</span>
                    <Badge tone="go">On file</Badge></span> : 'None on file'],
                data.updated_at ? ['Left', <When at={data.updated_at} />] : null,
            ]} />
            <Put isSet={data.set} />
            {data.set && <div class="actions">
                <Button kind="danger" onClick={() => setIsForgetting(true)}>Forget it</Button>
            </div>}
        </>}</Async>
        {isForgetting && <Forget onClose={() => setIsForgetting(false)} />}
    </Panel>;
}

function Put({ isSet }: { isSet: boolean }) {
    const [token, setToken] = useState('');
    const put = useChange('put_integration', {
        refresh: ['show_integration'], done: () => { setToken(''); toast('The token is on file.'); } });
    const told = fieldError(put.error, 'body.token');
    function give(event: Event) {
        event.preventDefault();
        void put.run({ path, body: { token: token.trim() } });
    }
    return <form class="stack" onSubmit={give}>
        <Field label={isSet ? 'Another token' : 'Your token'} error={told}>
            {(ids) => <div class="inline">
                <TextInput {...ids} type="password" mono value={token} onInput={setToken} placeholder="hf_…" />
                <Button type="submit" kind="primary" busy={put.busy} disabled={token.trim() === ''}>Keep it</Button>
            </div>}
        </Field>
        {put.error && !told && <Failure error={put.error} />}
    </form>;
}

function Forget({ onClose }: { onClose: () => void }) {
    const forget = useChange('delete_integration', {
        refresh: ['show_integration'], done: () => { onClose(); toast('The token is forgotten.'); } });
    return <Ask title="Forget the token?" action="Forget it" keep="Keep it" busy={forget.busy} error={forget.error}
        onClose={onClose} onDo={() => void forget.run({ path })}>
        <p>Gated models do not start for you without it. What runs goes on.</p>
    </Ask>;
}
