// What can be rented, published or not.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { bytes, When } from '../../format';
import { Badge, Button, Failure, Field, Page, Sheet, TextArea, toast } from '../../kit';
import { choices, DeskList, humanly } from './desk_list';

type Template = Item<'list_all_templates'>;

export default function Templates() {
    const [edited, setEdited] = useState<Template | 'new'>();
    return <Page title="Templates" facts="What renters may start, and what it needs."
        actions={<Button kind="primary" onClick={() => setEdited('new')}>New template</Button>}>
        <DeskList operation="list_all_templates" caption="Templates" keyOf={({ id }) => id}
            filters={[{ name: 'kind', label: 'Kind', options: choices(['model', 'classical', 'custom']) }]}
            empty="There are none yet." columns={[
                { head: 'Template', cell: ({ name, template_id }) => <><span class="strong">{name}</span><small class="mono">{template_id}</small></> },
                { head: 'Kind', cell: ({ kind, engine }) => <>{humanly(kind)}<small>{engine}</small></>, narrow: 'hide' },
                { head: 'Memory', cell: ({ vram_fit }) => bytes(vram_fit.min_vram_bytes), right: true },
                { head: 'Published', cell: ({ published_at }) => published_at ? <When at={published_at} />
                    : <Badge tone="slack">Not published</Badge> },
                { head: <span class="sr">Actions</span>, right: true, cell: (template) => <span class="actions end">
                    <Publish template={template} />
                    <Button small onClick={() => setEdited(template)}>Edit</Button>
                </span> },
            ]} />
        {edited && <Edit key={edited === 'new' ? 'new' : edited.id} template={edited}
            onClose={() => setEdited(undefined)} />}
    </Page>;
}

function Publish({ template }: { template: Template }) {
    const isOut = template.published_at !== null;
    const change = useChange(isOut ? 'unpublish_template' : 'publish_template', { refresh: ['list_all_templates'],
        done: () => toast(isOut ? 'Nobody can start it any more; what runs goes on' : 'Renters see it now') });
    return <>
        <Button small busy={change.busy} onClick={() => void change.run({ path: { id: template.id } } as never)}>
            {isOut ? 'Take back' : 'Publish'}</Button>
        {change.error && <span class="error small" role="alert">{change.error.message}</span>}
    </>;
}

const blank = { template_id: '', name: '', kind: 'model', engine: 'vllm', image_digest: null,
    vram_fit: { min_vram_bytes: '0', est_weights_bytes: '0', est_kv_bytes_per_1k_tokens: '0' }, min_gpu_count: 1,
    required_runtime: 'cuda', exposes: [{ name: 'api', port: 8000, protocol: 'http' }], env: {}, setup_notes: '' };

/** What the server gives itself is not sent back. */
function editable({ id: _, time_to_ready: __, published_at: ___, ...rest }: Template) {
    return rest;
}

function Edit({ template, onClose }: { template: Template | 'new'; onClose: () => void }) {
    const [text, setText] = useState(JSON.stringify(template === 'new' ? blank : editable(template), null, 2));
    const [fault, setFault] = useState<string>();
    const after = { refresh: ['list_all_templates' as const], done: () => { toast('Kept'); onClose(); } };
    const [add, replace] = [useChange('add_template', after), useChange('replace_template', after)];
    function save(event: Event) {
        event.preventDefault();
        try {
            const body = JSON.parse(text);
            setFault(undefined);
            void (template === 'new' ? add.run({ body }) : replace.run({ path: { id: template.id }, body }));
        } catch (wrong) {
            setFault(`This is no JSON: ${(wrong as Error).message}`);
        }
    }
    return <Sheet title={template === 'new' ? 'New template' : template.name} open onClose={onClose}>
        <form class="stack" onSubmit={save}>
            <Field label="Template" error={fault} hint="As the API takes it. Those who rent see it once it is published.">
                {(ids) => <TextArea {...ids} value={text} onInput={setText} mono rows={18} />}
            </Field>
            <Failure error={add.error ?? replace.error} />
            <div class="actions">
                <Button kind="primary" type="submit" busy={add.busy || replace.busy}>Keep it</Button>
                <Button onClick={onClose}>Not now</Button>
            </div>
        </form>
    </Sheet>;
}
