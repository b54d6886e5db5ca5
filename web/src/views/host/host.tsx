// Why am I not earning? Machines, worst first, with one next step each.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { refresh, useChange, useRead } from '../../api';
import { Ago, Money, moneyText, plural, Rate, useNow } from '../../format';
import { Badge, Button, Empty, Failure, Loading, More, Notice, Page, Panel, Stats, Table, toast } from '../../kit';
import { go } from '../../router';
import { isNoHostYet, useMachines, type Machine, type MachineEntry } from './later';
import { nextStep, situationOf, type NextStep } from './next_step';
import { gpusOf, nameOf, sumOf } from './parts';

/** So many pages are read beside the list, of the machines that need somebody most. */
const detailsMax = 10;

interface Row { machine: MachineEntry; step: NextStep }

export default function Host() {
    const machines = useMachines(15);
    const [details, setDetails] = useState<Record<string, Machine>>({});
    const note = useCallback((id: string, machine: Machine) =>
        setDetails((known) => known[id] === machine ? known : { ...known, [id]: machine }), []);
    const nowMs = useNow(5_000);

    const rows = (machines.items ?? []).map((machine) => {
        const known = details[machine.machine_id];
        const isSame = known?.version === machine.version;
        const told = isSame && known ? { ...known, last_healthy_at: machine.last_healthy_at } : machine;
        const step = nextStep(situationOf(told, nowMs));
        return { machine: { ...machine, label: machine.label ?? known?.label }, step };
    }).sort((a, b) => a.step.rank - b.step.rank);
    const asked = rows.slice(0, detailsMax);

    return <Page title="Machines" facts={<HostFacts rows={rows} />}
        actions={<Button kind={rows.length === 0 ? 'primary' : undefined} href="/host/machines/new">
            Add a machine</Button>}>
        <div class="stack">
            {asked.map(({ machine }) => <Detail key={machine.machine_id}
                id={machine.machine_id} isNoted={machine.machine_id in details} onRead={note} />)}
            <First rows={rows} />
            <Sums />
            <Panel title="Worst first" flush footer={machines.hasMore ? <More list={machines} /> : undefined}>
                {isNoHostYet(machines.error) ? <NoMachine />
                    : machines.error ? <Failure error={machines.error} retry={machines.refetch} />
                    : machines.items === undefined ? <Loading rows={4} />
                    : rows.length === 0 ? <NoMachine /> : <MachineTable rows={rows} />}
            </Panel>
        </div>
    </Page>;
}

function HostFacts({ rows }: { rows: Row[] }) {
    if (rows.length === 0) return null;
    const earning = rows.filter(({ step }) => step.isEarning).length;
    return <span>{earning === rows.length ? 'All of them can earn.'
        : `${earning} of ${plural(rows.length, 'machine')} can earn.`}</span>;
}

/** Reads one machine's page for the list, which knows less. */
function Detail({ id, isNoted, onRead }: {
    id: string; isNoted: boolean; onRead: (id: string, machine: Machine) => void;
}) {
    const { data, isLoading } = useRead('show_machine', { path: { id } }, { every: 15 });
    useEffect(() => { if (data) onRead(id, data as Machine); }, [data, id, onRead]);
    return isLoading || (data && !isNoted) ? <span hidden data-settling /> : null;
}

function NoMachine() {
    return <Empty title="None yet."
        action={<Button kind="primary" href="/host/machines/new">Add a machine</Button>}>
        One line on it, a three-minute test, your price.
    </Empty>;
}

/** Where a press leads that is no change. */
function addressOf(machineId: string, step: NextStep): string {
    if (step.act === 'price') return `/host/machines/${machineId}/offer`;
    if (step.act === 'write') return '/help';
    return `/host/machines/${machineId}`;
}

function First({ rows }: { rows: Row[] }) {
    const first = rows.find(({ step }) => step.act !== 'none' && !step.isEarning);
    const list = useChange('list_machine', { refresh: ['list_machines', 'show_machine'] });
    if (!first) return null;
    const { machine, step } = first;
    const fix = async () => {
        if (step.act !== 'list') return go(addressOf(machine.machine_id, step));
        const answer = await list.run({ path: { id: machine.machine_id } });
        if (answer?.decision === 'admitted') toast('For rent. Renters see it now.');
        else if (answer) go(`/host/machines/${machine.machine_id}`);
    };
    return <>
        <Notice tone={step.tone === 'stop' ? 'stop' : 'lamp'} role="status" title={`${nameOf(machine)}: ${step.title}`}
            actions={<Button kind="primary" busy={list.busy} onClick={() => void fix()}>
                {step.act === 'list' ? step.label : 'Fix the first'}
            </Button>}>
            {step.text}
        </Notice>
        {list.error && <Failure error={list.error} retry={() => void refresh('list_machines')} />}
    </>;
}

function Sums() {
    const earnings = useRead('show_earnings', {}, { every: 30 });
    if (!earnings.data) return earnings.isLoading ? <span hidden data-settling /> : null;
    const told = earnings.data;
    const earned = sumOf(told.days.map(({ earned_micro }) => earned_micro));
    const rentals = told.days.reduce((sum, { rental_count }) => sum + rental_count, 0);
    return <Panel title="Earned" aside={<a class="small" href="/host/earnings">By day</a>}>
        <Stats items={[
            [`Last ${told.window_days} days`, <Money micro={earned} asset={null} />, 'USDC after the fee'],
            ['Rentals', String(rentals), `in ${told.window_days} days`],
            ['Ready to pay out', <a href="/host/payouts"><Money micro={told.payable_micro} asset={null} /></a>, 'USDC'],
            ['Maturing', <Money micro={told.maturing_micro} asset={null} />,
                `USDC, payable ${told.payout_delay_hours} h after it was earned`],
            BigInt(told.disputed_micro) > 0n
                && ['Disputed', <Money micro={told.disputed_micro} asset={null} />, 'USDC held back'],
            BigInt(told.debt_micro) > 0n
                && ['You owe', <Money micro={told.debt_micro} asset={null} />, 'USDC after refunds'],
        ]} />
    </Panel>;
}

function MachineTable({ rows }: { rows: Row[] }) {
    return <Table caption="Your machines, worst first" rows={rows} keyOf={({ machine }) => machine.machine_id}
        href={({ machine }) => `/host/machines/${machine.machine_id}`}
        columns={[
            { head: 'Machine', cell: ({ machine }) => <div class="tight">
                <span class="strong">{nameOf(machine)}</span>
                {machine.label && <span class="small muted">{gpusOf(machine)}</span>}
            </div> },
            { head: 'State', cell: ({ step }) => <Badge tone={step.tone}>{step.badge}</Badge> },
            { head: 'Next step', cell: ({ step }) => step.act === 'none' || step.label === ''
                ? <span class="muted">{step.text}</span>
                : <span>{step.label}<span class="muted">: {step.title}</span></span> },
            { head: 'Price', right: true, cell: ({ machine }) => machine.current_offer
                ? <span title={moneyText(machine.current_offer.rate_micro_per_hour, 6, 'USDC an hour')}>
                    <Rate microPerHour={machine.current_offer.rate_micro_per_hour} /></span>
                : <span class="muted">none</span> },
            { head: 'Seen', right: true, narrow: 'hide', cell: ({ machine }) => <Ago at={machine.last_healthy_at} /> },
        ]} />;
}
