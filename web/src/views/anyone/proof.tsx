// Is the money there? What is owed, what is held, and the proofs, checked here rather than believed.
import { BerthError, type Schema } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { asError, client, useRead } from '../../api';
import { Ago, Id, Money, When, moneyText } from '../../format';
import { Async, Badge, Button, Checks, Code, Empty, Facts, Failure, Notice, Page, Panel, Stats } from '../../kit';
import { useSession } from '../../session';
import { canCheck, checkAbsence, checkChain, checkProof, checkRecord, type Keys, type Owed, type Verdict }
    from './proof_check';

const chainLength = 48;

export default function ProofPage() {
    const read = useRead('show_liabilities', {}, { every: 300 });
    const keys = useRead('list_signing_keys', {}, { every: 300 });
    return <Page title="Proof of liabilities" facts={<span>Every hour the service signs what it owes to all accounts
        together, and what its treasury has. Your browser checks it, here.</span>}
        actions={<a class="btn small" href="/docs" data-native>For programs</a>}>
        {!canCheck() && <Notice tone="lamp" title="This browser cannot check it here.">
            <p>It needs an https address. The program does the same:</p>
            <Code text="berthd verify liabilities FILE" label="the command" /></Notice>}
        <Async read={read} rows={8}>{({ items }) => items.length === 0
            ? <Empty title="No record was made yet.">The first one follows within the hour.</Empty>
            : <div class="stack">
                {items.map((record) => <Asset key={record.asset} record={record} keys={keys.data} />)}</div>}
        </Async>
        {keys.error && <Failure error={keys.error} retry={keys.refetch} />}
    </Page>;
}

function Asset({ record, keys }: { record: Owed; keys: Keys | undefined }) {
    return <Panel title={record.asset} aside={<Cover record={record} />}>
        <Stats items={[
            ['Owed to all', <Money micro={record.total_micro} asset={record.asset} />, `${record.count} leaves`],
            ['Held', record.treasury_micro === null ? <span class="muted">nobody looked</span>
                : <Money micro={record.treasury_micro} asset={record.asset} />,
                record.block_number === null ? 'without a chain'
                    : `in block ${record.block_number.toLocaleString('en')}`],
            ['Made', <Ago at={record.as_of} />, `record ${record.number}`],
        ]} />
        <PublicChecks record={record} keys={keys} />
        <Own record={record} keys={keys} />
        <details><summary>The record itself</summary><Facts small items={[
            ['As of', <When at={record.as_of} />], ['Root', <Id value={record.root} what="root" />],
            ['Hash', <Id value={record.hash} what="hash" />],
            ['Hash before', <Id value={record.previous_hash} what="hash before it" />],
            ['Key', <Id value={record.public_key} what="public key" />],
            record.posted_tx !== undefined && ['On chain in', <Id value={record.posted_tx} what="transaction" />],
        ]} /></details>
    </Panel>;
}

function Cover({ record }: { record: Owed }) {
    if (record.covered === null) return <Badge tone="slack">Not compared with a chain</Badge>;
    return record.covered ? <Badge tone="go">Covered</Badge> : <Badge tone="stop">Less than is owed</Badge>;
}

const marks = { good: 'pass', bad: 'fail', unable: 'warn' } as const;

function useVerdict(check: () => Promise<Verdict> | undefined, depends: unknown[]): Verdict | undefined {
    const [verdict, setVerdict] = useState<Verdict>();
    useEffect(() => {
        let isOver = false;
        const tell = (told: Verdict) => { if (!isOver) setVerdict(told); };
        setVerdict(undefined);
        check()?.then(tell, (fault: unknown) =>
            tell({ state: 'bad', why: `It cannot be read: ${asError(fault).message}` }));
        return () => { isOver = true; };
    }, depends);
    return verdict;
}

function item(name: string, needed: string, verdict: Verdict | undefined) {
    return { name, needed, state: verdict ? marks[verdict.state] : 'run' as const,
        found: verdict?.why ?? 'being checked' };
}

/** Whether what is held is enough, out of the numbers themselves. */
function coverOf(record: Owed): Verdict {
    if (record.treasury_micro === null) return { state: 'unable', why: 'Nobody looked at a chain for this record.' };
    const left = BigInt(record.treasury_micro) - BigInt(record.total_micro);
    return left >= 0n ? { state: 'good', why: `${moneyText(String(left), 2, record.asset)} more than is owed.` }
        : { state: 'bad', why: `${moneyText(String(-left), 2, record.asset)} are missing.` };
}

function PublicChecks({ record, keys }: { record: Owed; keys: Keys | undefined }) {
    const records = useRead('list_liabilities',
        { query: { asset: record.asset as 'USDC', limit: chainLength } }, { every: 300 });
    const isOpen = canCheck() && keys !== undefined;
    const signature = useVerdict(() => isOpen ? checkRecord(record, keys) : undefined, [record.hash, keys, isOpen]);
    const chain = useVerdict(() => isOpen && records.data ? checkChain(records.data.items, keys) : undefined,
        [records.data, keys, isOpen]);
    if (!canCheck()) return null;
    return <Checks items={[item('Held against owed', 'as much at least', coverOf(record)),
        item('Signature', 'by a published key', signature), item('Chain of records', 'without a gap', chain)]} />;
}

type Shown = { verdict: Verdict; balance: string | undefined };

function Own({ record, keys }: { record: Owed; keys: Keys | undefined }) {
    const session = useSession();
    const [shown, setShown] = useState<Shown>();
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<BerthError>();
    useEffect(() => setShown(undefined), [record.hash]);
    if (!canCheck() || !keys) return null;
    if (!session) return <p class="small soft"><a href="/sign-in?next=/proof">Sign in</a> to see that the total has your
        own balance in it.</p>;
    const check = async () => {
        setBusy(true);
        setError(undefined);
        try {
            setShown(await checkOwn(record, session.account_id, keys));
        } catch (fault) {
            setError(asError(fault));
        } finally {
            setBusy(false);
        }
    };
    return <div class="stack" aria-live="polite">
        {shown && <Notice tone={shown.verdict.state === 'good' ? 'go' : shown.verdict.state === 'bad' ? 'stop' : 'lamp'}
            title={shown.verdict.state !== 'good' ? 'Not proved.'
                : shown.balance === undefined ? 'Nothing was owed to you.'
                : `Your ${moneyText(shown.balance, 2, record.asset)} are in it.`}>{shown.verdict.why}</Notice>}
        {error && <Failure error={error} />}
        <div class="row"><Button kind="primary" busy={busy} onClick={() => void check()}>Check my balance</Button>
            <span class="small muted">All of it: spendable, held, on its way out, earned.</span></div>
    </div>;
}

/** The leaves of the account; where there are none, the signed word that there are none. */
async function checkOwn(record: Owed, account: string, keys: Keys): Promise<Shown> {
    const query = { asset: record.asset as 'USDC' };
    let proof: Schema<'Proof'>;
    try {
        proof = await client.call('show_own_proof', { query });
    } catch (fault) {
        if (!(fault instanceof BerthError) || fault.status !== 404) throw fault;
        const absence = await client.call('show_own_absence', { query });
        return { verdict: await checkAbsence(absence, account, record, keys), balance: undefined };
    }
    return { verdict: await checkProof(proof, account, record), balance: proof.balance_micro };
}
