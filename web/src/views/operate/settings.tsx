// Settings by category: what they are, where a value comes from, and a change with its reason.
import type { Item } from 'berth-client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { fieldError, useChange, usePages, type Listed } from '../../api';
import { Ago } from '../../format';
import { Badge, Button, Check, Failure, Field, Loading, Page, Panel, Table, TextArea, TextInput, toast } from '../../kit';
import { useQuery } from '../../router';
import { Consequence, saidOf } from './consequence';
import { humanly } from './desk_list';

export type Setting = Item<'list_settings'>;

const pageMax = 100;

/** All of them: one looks for a setting among all, not among those of a page. */
export function useSettings(): Listed<Setting> {
    const list = usePages('list_settings', { query: { limit: pageMax } as never });
    useEffect(() => { if (list.hasMore) list.more(); }, [list.items?.length]);
    return list;
}

export default function Settings() {
    const list = useSettings();
    const [query, setQuery] = useQuery();
    const [edited, setEdited] = useState<Setting>();
    const wanted = (query['q'] ?? '').toLowerCase();
    const groups = useMemo(() => grouped((list.items ?? []).filter(({ key, label }) =>
        `${key} ${label}`.toLowerCase().includes(wanted))), [list.items, wanted]);
    return <Page title="Settings" facts="A change holds at once, in every process, and is in the audit.">
        <div class="row filters-row"><Field label="Find">
            {(ids) => <TextInput {...ids} value={query['q'] ?? ''} filter
                onInput={(q) => setQuery({ q }, { replace: true })} />}
        </Field></div>
        {list.error ? <Failure error={list.error} retry={list.refetch} /> : !list.items ? <Loading rows={8} />
            : <div class="stack">{groups.map(([category, settings]) =>
                <Category key={category} {...{ category, settings }} onEdit={setEdited} />)}</div>}
        {edited && <Edit key={edited.key} setting={edited} onClose={() => setEdited(undefined)} />}
    </Page>;
}

function grouped(settings: Setting[]): [string, Setting[]][] {
    const groups = new Map<string, Setting[]>();
    for (const setting of settings) groups.set(setting.category, [...groups.get(setting.category) ?? [], setting]);
    return [...groups];
}

function Category({ category, settings, onEdit }: {
    category: string; settings: Setting[]; onEdit: (setting: Setting) => void;
}) {
    return <Panel title={humanly(category)} flush>
        <Table caption={humanly(category)} dense rows={settings} keyOf={({ key }) => key} columns={[
            { head: 'Setting', cell: ({ label, key }) => <><span class="strong">{label}</span><small class="mono">{key}</small></> },
            { head: 'Value', cell: (setting) => <span class="mono wraps">{shown(setting)}</span> },
            { head: 'From', cell: ({ source, updated_at }) => <>
                <Badge plain tone={source === 'database' ? 'way' : 'slack'}>{sources[source] ?? source}</Badge>
                {updated_at && <small><Ago at={updated_at} /></small>}</>, narrow: 'hide' },
            { head: <span class="sr">Change</span>, right: true, cell: (setting) => setting.editable
                ? <Button small onClick={() => onEdit(setting)}>Change</Button>
                : <small class="muted">{setting.pinned_reason ?? 'fixed at the start'}</small> },
        ]} />
    </Panel>;
}

const sources: Record<string, string> = { database: 'Set here', environment: 'From the start', default: 'As shipped' };
const shownMax = 200;

function shown({ secret, value }: Setting): string {
    if (secret) return value === null ? 'not set' : '••••••';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text === '') return 'empty';
    return text.length > shownMax ? `${text.slice(0, shownMax)}… (${text.length} characters)` : text;
}

/** As its kind wants it; a text that is no JSON stays a text, and the server says what it thinks of it. */
function valueOf(setting: Setting, text: string): unknown {
    if (typeof setting.value === 'string' || setting.secret) return text;
    try { return JSON.parse(text); } catch { return text; }
}

function Edit({ setting, onClose }: { setting: Setting; onClose: () => void }) {
    const isFlag = typeof setting.value === 'boolean';
    const [text, setText] = useState(setting.secret ? '' : typeof setting.value === 'string' ? setting.value
        : JSON.stringify(setting.value));
    const after = (answer: object) => { toast(saidOf(answer, 'It holds from now on')); onClose(); };
    const change = useChange('put_setting', { refresh: ['list_settings'], done: after });
    const reset = useChange('reset_setting', { refresh: ['list_settings'], done: after });
    const [resets, setResets] = useState(false);
    const path = { key: setting.key };
    return <Consequence title={setting.label} open onClose={onClose} busy={change.busy || reset.busy}
        error={change.error ?? reset.error} button={resets ? 'Back to what was shipped' : 'Change it'}
        run={(reason) => resets
            ? void reset.run({ path, query: { expected_version: setting.version, reason } } as never)
            : void change.run({ path, body: { value: valueOf(setting, text), expected_version: setting.version,
                reason } } as never)}>
        <p class="soft">{setting.help}</p>
        {!resets && (isFlag
            ? <Check checked={text === 'true'} onChange={(on) => setText(String(on))} label="On" />
            : <Field label="Value" error={fieldError(change.error, 'body.value')}
                hint={setting.secret ? 'It is never shown again.' : `Also ${setting.env} at the start of the server.`}>
                {(ids) => <TextArea {...ids} value={text} onInput={setText} mono rows={2} />}
            </Field>)}
        {setting.source === 'database' && <Check checked={resets} onChange={setResets}
            label="Take back what was set here" />}
    </Consequence>;
}
