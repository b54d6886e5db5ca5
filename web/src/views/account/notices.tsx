// Which events come by mail.
import type { Given } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, useRead } from '../../api';
import { Async, Button, Failure, Panel, Select, toast } from '../../kit';
import { eventGroup, eventWords } from './event_words';

type Choices = Given<'choose_mail_notices'>['body']['types'];
const options: ['now' | 'digest' | 'off', string][] =
    [['now', 'At once'], ['digest', 'Once a day'], ['off', 'Not at all']];

export function Notices() {
    const read = useRead('show_mail_notices');
    return <Async read={read} rows={8}>{(data) => <Form kept={data.types as Choices} />}</Async>;
}

function grouped(types: string[]): [title: string, types: string[]][] {
    const groups = new Map<string, string[]>();
    for (const type of types) groups.set(eventGroup(type), [...groups.get(eventGroup(type)) ?? [], type]);
    return [...groups];
}

function Form({ kept }: { kept: Choices }) {
    const [changed, setChanged] = useState<Choices>({});
    const save = useChange('choose_mail_notices', {
        refresh: ['show_mail_notices'], done: () => { setChanged({}); toast('Kept.'); } });
    const isChanged = Object.entries(changed).some(([type, choice]) => kept[type] !== choice);
    function give(event: Event) {
        event.preventDefault();
        void save.run({ body: { types: { ...kept, ...changed } } });
    }
    return <form class="stack" onSubmit={give}>
        <p class="soft">Security notices and answers of support are always mailed. More than five mails in ten minutes
            become one.</p>
        {grouped(Object.keys(kept)).map(([title, types]) => <Panel key={title} title={title}>
            {types.map((type) => <div key={type} class="row spread">
                <span>{eventWords(type)} <span class="mono tiny muted">{type}</span></span>
                <div style={{ width: '10rem' }}>
                    <Select label={`Mail: ${eventWords(type)}`} value={changed[type] ?? kept[type] ?? 'off'}
                        onChange={(choice) => setChanged({ ...changed, [type]: choice })} options={options} />
                </div>
            </div>)}
        </Panel>)}
        {save.error && <Failure error={save.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={save.busy} disabled={!isChanged}>Keep this choice</Button>
            {isChanged && <Button kind="quiet" onClick={() => setChanged({})}>As it was</Button>}
        </div>
    </form>;
}
