// A statement of a month or a year as a file.
import { useState } from 'preact/hooks';
import { asError, client } from '../../api';
import { now } from '../../clock';
import { Button, Failure, Field, Panel, Select } from '../../kit';
import { saveAs } from '../../save';

interface Span { name: string; label: string; since: Date; until: Date }

/** The last twelve months and the two years they are in, newest first, in UTC as the books are. */
export function spans(today: Date): Span[] {
    const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
    const months = Array.from({ length: 12 }, (_, back): Span => {
        const since = new Date(Date.UTC(year, month - back, 1));
        const until = new Date(Date.UTC(year, month - back + 1, 1));
        const label = since.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
        return { name: since.toISOString().slice(0, 7), label, since, until };
    });
    const years = [year, year - 1].map((each): Span => ({
        name: String(each), label: `All of ${each}`,
        since: new Date(Date.UTC(each, 0, 1)), until: new Date(Date.UTC(each + 1, 0, 1)),
    }));
    return [...months, ...years];
}

const wire = (moment: Date) => moment.toISOString().replace(/\.\d+Z$/, 'Z');

export function Statement({ asset }: { asset: 'USDC' | 'USDT' }) {
    const all = spans(new Date(now()));
    const [name, setName] = useState(all[0]?.name ?? '');
    const [busy, setBusy] = useState<'csv' | 'json'>();
    const [error, setError] = useState<unknown>();
    const span = all.find((each) => each.name === name);

    async function download(kind: 'csv' | 'json') {
        if (!span) return;
        setBusy(kind);
        setError(undefined);
        const type = kind === 'csv' ? 'text/csv' : 'application/json';
        try {
            const query = { since: wire(span.since), until: wire(span.until), asset };
            const answer = await client.open('show_statement', { query, headers: { Accept: type } } as never);
            saveAs(`statement-${span.name}-${asset}.${kind}`, await answer.blob());
        } catch (fault) {
            setError(fault);
        }
        setBusy(undefined);
    }

    return <Panel title="Statement" footer="Opening and closing balance, and every entry between them. Times are UTC.">
        <Field label="Of">
            {(ids) => <Select {...ids} value={name} onChange={setName}
                options={all.map((each): [string, string] => [each.name, each.label])} />}
        </Field>
        <div class="actions">
            <Button busy={busy === 'csv'} disabled={busy !== undefined} onClick={() => void download('csv')}>
                Table (CSV)
            </Button>
            <Button busy={busy === 'json'} disabled={busy !== undefined} onClick={() => void download('json')}>
                JSON
            </Button>
        </div>
        {error !== undefined && <Failure error={asError(error)} />}
    </Panel>;
}
