// A new webhook: an address and the events it hears.
import { useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Button, Check, Failure, Field, TextInput } from '../../kit';
import { eventGroups } from './event_words';
import type { IssuedWebhook } from './webhooks';

export function NewWebhook({ onMade, onClose }: { onMade: (webhook: IssuedWebhook) => void; onClose: () => void }) {
    const [url, setUrl] = useState('');
    const [types, setTypes] = useState<string[]>([]);
    const create = useChange('create_webhook', { refresh: ['list_webhooks'], done: onMade });
    const told = fieldError(create.error, 'body.url');
    function give(event: Event) {
        event.preventDefault();
        void create.run({ body: { url: url.trim(), types, enabled: true, from: 'now' } });
    }
    return <form class="stack" onSubmit={give} noValidate>
        <Field label="Address" error={told} hint="https, reachable from the internet.">
            {(ids) => <TextInput {...ids} type="url" inputMode="url" mono value={url} onInput={setUrl}
                placeholder="https://example.org/berth" autoFocus />}
        </Field>
        <TypeChoice types={types} setTypes={setTypes} error={fieldError(create.error, 'body.types')} />
        {create.error && !told && !fieldError(create.error, 'body.types') && <Failure error={create.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={create.busy} disabled={!url.trim().startsWith('https://')}>
                Make the webhook
            </Button>
            <Button onClick={onClose}>Cancel</Button>
        </div>
    </form>;
}

/** Groups of types; none chosen means all. */
export function TypeChoice({ types, setTypes, error }: {
    types: string[]; setTypes: (types: string[]) => void; error: string | undefined;
}) {
    const others = types.filter((type) => !eventGroups.some(([name]) => type === `${name}.*`));
    return <fieldset class="tight">
        <legend class="strong small">Events{types.length === 0 && ': all of them'}</legend>
        <div class="two">
            {eventGroups.map(([name, title]) => <Check key={name} checked={types.includes(`${name}.*`)} label={title}
                onChange={(isOn) => setTypes(isOn ? [...types, `${name}.*`]
                    : types.filter((type) => type !== `${name}.*`))} />)}
            {others.map((type) => <Check key={type} checked label={<span class="mono">{type}</span>}
                onChange={() => setTypes(types.filter((each) => each !== type))} />)}
        </div>
        {error && <span class="error" role="alert">{error}</span>}
    </fieldset>;
}
