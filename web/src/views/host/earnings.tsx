// What did I make? By day, by machine, by year.
import { useRead } from '../../api';
import { Duration, Id, Money, moneyText, When } from '../../format';
import { Async, Badge, Bars, Button, Empty, Facts, Failure, Loading, More, Notice, Page, Panel, Segmented, Stats,
    Table } from '../../kit';
import { useQuery } from '../../router';
import { isNoHostYet, useHostRentals, useMachines, type HostRental, type MachineEntry } from './later';
import { barsOf, lowered, nameOf, percentOfBps, sumOf } from './parts';
import { endReason, jobState } from '../../words';

type Asset = 'USDC' | 'USDT';

export default function Earnings() {
    const [query, setQuery] = useQuery();
    const asset: Asset = query.asset === 'USDT' ? 'USDT' : 'USDC';
    const read = useRead('show_earnings', { query: { asset } }, { every: 30 });
    if (isNoHostYet(read.error)) return <Page title="Earnings" crumbs={[['Machines', '/host']]}><NoHost /></Page>;
    return <Page title="Earnings" crumbs={[['Machines', '/host']]}
        actions={<>
            <Segmented label="Token" value={asset} options={[['USDC', 'USDC'], ['USDT', 'USDT']]}
                onChange={(chosen) => setQuery({ asset: chosen === 'USDC' ? undefined : chosen }, { replace: true })} />
            <Button kind="primary" href="/host/payouts">Pay out</Button>
        </>}>
        <div class="cols">
            <div class="stack">
                <Async read={read} rows={8}>{(told) => <ByDay told={told} asset={asset} />}</Async>
                <ByMachine asset={asset} />
                <Rentals />
                <Year asset={asset} />
            </div>
            <aside class="stack" aria-label="Where the money is">
                <Async read={read} rows={6}>{(told) => <Sums told={told} asset={asset} />}</Async>
            </aside>
        </div>
    </Page>;
}

/** Stands wherever a host would see money. */
export function NoHost() {
    return <Empty title="You rent out no machine yet."
        action={<Button kind="primary" href="/host/machines/new">Add a machine</Button>}>
        What it earns stands here by day, machine and rental.
    </Empty>;
}

type Told = NonNullable<ReturnType<typeof useRead<'show_earnings'>>['data']>;

function ByDay({ told, asset }: { told: Told; asset: Asset }) {
    const earned = sumOf(told.days.map(({ earned_micro }) => earned_micro));
    const rentals = told.days.reduce((sum, { rental_count }) => sum + rental_count, 0);
    return <>
        {BigInt(told.debt_micro) > 0n && <Notice tone="lamp" title={`You owe ${moneyText(told.debt_micro, 2, asset)}`}>
            Refunds took more than you had earned. It is taken from what you earn next.
        </Notice>}
        <Panel title="Earned by day" aside={`${told.window_days} days`}>
            <Stats items={[
                [`Earned, ${told.window_days} days`, <Money micro={earned} asset={null} />,
                    `${asset} after the ${percentOfBps(told.fee_bps)} fee`],
                ['Rentals', String(rentals), `in ${told.window_days} days`],
                ['Ready to pay out', <Money micro={told.payable_micro} asset={null} />, asset],
            ]} />
            {rentals === 0 && earned === 0n
                ? <Empty title="Nothing in these days.">A bar for each day stands here once somebody rents.</Empty>
                : <Bars days={barsOf(told.days)} label={`Earned after the fee by day, ${asset}`} scale={1_000_000} />}
        </Panel>
    </>;
}

/** Where all of it went, from what renters paid to what was paid out. */
function Sums({ told, asset }: { told: Told; asset: Asset }) {
    return <Panel title="Since the beginning" footer={<a href="#year">Figures of a year</a>}>
        <Facts items={[
            ['Charged to renters', <Money micro={told.gross_micro} asset={asset} />],
            ['Fee', <Money micro={told.fee_micro} asset={asset} />],
            ['Earned', <Money micro={told.earned_micro} asset={asset} />],
            ['Maturing', <Money micro={told.maturing_micro} asset={asset} />],
            told.next_payable_at !== null && ['The next of it', <When at={told.next_payable_at} />],
            ['Held for disputes', <Money micro={told.disputed_micro} asset={asset} />],
            ['Ready to pay out', <Money micro={told.payable_micro} asset={asset} />],
            ['On its way to you', <Money micro={told.requested_micro} asset={asset} />],
            ['Paid out', <Money micro={told.settled_micro} asset={asset} />],
            BigInt(told.repaid_micro) > 0n && ['Debts paid', <Money micro={told.repaid_micro} asset={asset} />],
        ]} />
    </Panel>;
}

function ByMachine({ asset }: { asset: Asset }) {
    const machines = useMachines(60);
    return <Panel title="By machine, 30 days" flush footer={machines.hasMore ? <More list={machines} /> : undefined}>
        {machines.error ? <Failure error={machines.error} retry={machines.refetch} />
            : !machines.items ? <Loading rows={3} />
            : machines.items.length === 0
                ? <Empty title="No machine yet." action={<Button href="/host/machines/new">Add a machine</Button>} />
                : <table class="table dense">
                    <caption class="sr">What each machine earned in 30 days</caption>
                    <thead><tr><th scope="col">Machine</th><th scope="col" class="r">Rentals</th>
                        <th scope="col" class="r">Earned</th></tr></thead>
                    <tbody>{machines.items.map((machine) =>
                        <MachineRow key={machine.machine_id} machine={machine} asset={asset} />)}</tbody>
                </table>}
    </Panel>;
}

function MachineRow({ machine, asset }: { machine: MachineEntry; asset: Asset }) {
    const { data, error } = useRead('show_machine_earnings',
        { path: { id: machine.machine_id }, query: { window: '30d', asset } }, { every: 300 });
    return <tr>
        <td><a href={`/host/machines/${machine.machine_id}`}>{nameOf(machine)}</a></td>
        <td class="r">{data ? data.days.reduce((sum, { rental_count }) => sum + rental_count, 0) : ''}</td>
        <td class="r">{data ? <Money micro={sumOf(data.days.map(({ earned_micro }) => earned_micro))} asset={asset} />
            : error ? <span class="bad">{error.message}</span> : <span class="muted">…</span>}</td>
    </tr>;
}

function endOf(ready: boolean, reason: string | null): string {
    return ready && reason !== null ? lowered(endReason(reason)) : 'never came up, nothing was billed';
}

/** Every rental on the host's machines, newest first; who rented is not told. */
function Rentals() {
    const rentals = useHostRentals();
    return <Panel title="Rentals on your machines" id="rentals" flush
        footer={rentals.hasMore ? <More list={rentals} /> : undefined}>
        {rentals.error ? <Failure error={rentals.error} retry={rentals.refetch} />
            : !rentals.items ? <Loading rows={3} />
            : rentals.items.length === 0
                ? <Empty title="None yet.">Each rental stands here with how long it ran and what you earned.</Empty>
                : <Table<HostRental> dense caption="Rentals on your machines, newest first" rows={rentals.items}
                    keyOf={({ job_id }) => job_id} columns={[
                        { head: 'Rental', cell: ({ job_id }) => <Id value={job_id} what="rental id" /> },
                        { head: 'Machine', narrow: 'hide', cell: ({ machine_id }) =>
                            <a class="mono" href={`/host/machines/${machine_id}`}>{machine_id.slice(0, 8)}</a> },
                        { head: 'Ended', cell: ({ state, ended_at, end_reason, ready }) => ended_at
                            ? <span><When at={ended_at} />{`, ${endOf(ready, end_reason)}`}</span>
                            : <Badge tone={jobState(state).tone}>{jobState(state).word}</Badge> },
                        { head: 'Ran', right: true, cell: ({ metered_ms }) => <Duration ms={metered_ms} /> },
                        { head: 'You earned', right: true, cell: ({ earned_micro }) =>
                            <Money micro={earned_micro} places={4} asset={null} /> },
                    ]} />}
    </Panel>;
}

const yearsShown = 3;

/** The figures of one year, for its taxes. */
function Year({ asset }: { asset: Asset }) {
    const [query, setQuery] = useQuery();
    const thisYear = new Date().getUTCFullYear();
    const year = /^\d{4}$/.test(query.year ?? '') ? Number(query.year) : thisYear;
    const read = useRead('show_earnings_year', { path: { year }, query: { asset } });
    const years = Array.from({ length: yearsShown }, (_, at) => String(thisYear - at));
    return <Panel title={`The year ${year}`} id="year" flush
        aside={<Segmented label="Year" value={String(year)}
            options={years.map((each) => [each, each] as const)}
            onChange={(chosen) => setQuery({ year: chosen }, { replace: true })} />}>
        <Async read={read} rows={4}>{(told) => {
            if (typeof told !== 'object' || told === null || !('months' in told)) {
                return <Empty title="Nothing in this year." />;
            }
            const shown = told as YearTold;
            const rows = [...shown.months, { month: 'Sum', gross_micro: shown.gross_micro, fee_micro: shown.fee_micro,
                earned_micro: shown.earned_micro, paid_micro: shown.paid_micro }];
            const amount = (member: keyof Omit<MonthTold, 'month'>) => (row: MonthTold) =>
                <Money micro={row[member]} asset={null} places={6} />;
            return <Table dense caption={`Earnings of ${year} by month`} rows={rows} keyOf={({ month }) => month}
                columns={[
                { head: 'Month', cell: ({ month }) => month === 'Sum' ? <strong>Sum</strong> : month },
                { head: 'Charged', right: true, cell: amount('gross_micro') },
                { head: 'Fee', right: true, cell: amount('fee_micro') },
                { head: 'Earned', right: true, cell: amount('earned_micro') },
                { head: 'Paid out', right: true, cell: amount('paid_micro') },
            ]} />;
        }}</Async>
    </Panel>;
}

interface MonthTold { month: string; gross_micro: string; fee_micro: string; earned_micro: string; paid_micro: string }
interface YearTold extends Omit<MonthTold, 'month'> { months: MonthTold[] }
