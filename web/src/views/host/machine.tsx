// What is in the way of one machine: the blocker first, then its test, what it earned, and how it stands.
import type { Answer } from 'berth-client';
import { useRead, type Read } from '../../api';
import { Id, Money, plural, useNow } from '../../format';
import { Async, Badge, Button, Code, Notice, Page, toast } from '../../kit';
import { useParams } from '../../router';
import { tier } from '../../words';
import { shownChecks, type ShownCheck } from './checks';
import { MachineActions, Outcome, useMachineActs, type Acts } from './machine_actions';
import { MachineEarned } from './machine_earned';
import { Preempt } from './machine_preempt';
import { MachineRentals } from './machine_rentals';
import { Label, OfferPanel, PricePanel, ReachPanel } from './machine_side';
import { RightNow, TelemetryCharts } from './machine_telemetry';
import { MachineTest } from './machine_test';
import { HealthEvents } from './machine_health';
import { useMachine, type Machine } from './later';
import { nextStep, situationOf, type NextStep } from './next_step';
import { gpusOf, lastEarningDay, longDayText, lowered, sumOf } from './parts';

export default function MachineView() {
    const { id = '' } = useParams();
    const machine = useMachine(id, 10);
    const acts = useMachineActs(id);
    const nowMs = useNow(5_000);
    const state = machine.data?.auto_qualify?.state;
    const test = useRead('show_qualification', { path: { id } },
        { every: state === 'testing' || state === 'waiting' ? 2 : 30 });
    // The test is asked for more often while it runs, and knows better how it stands.
    const told = machine.data && test.data ? { ...machine.data, auto_qualify: test.data.auto_qualify } : machine.data;
    const step = told && nextStep(situationOf(told, nowMs));
    return <Page title={told ? titleOf(told) : 'Machine'} crumbs={[['Machines', '/host']]}
        facts={told && step && <>
            <Badge tone={step.tone}>{step.badge}</Badge>
            {told.region && <span>{told.region}</span>}
            {told.tier && <span>{tier(told.tier)}</span>}
            <Id value={id} what="machine id" />
        </>}
        actions={told && <Button href={`/host/machines/${id}/offer`}>
            {told.current_offer ? 'Edit price' : 'Set a price'}</Button>}>
        <Async read={machine} rows={8}>{() => told && step
            ? <Shown key={id} id={id} machine={told} step={step} test={test} acts={acts} /> : null}</Async>
    </Page>;
}

function titleOf(machine: Machine): string {
    return machine.label ? `${machine.label}, ${gpusOf(machine)}` : gpusOf(machine);
}

function Shown({ id, machine, step, test, acts }: {
    id: string; machine: Machine; step: NextStep; test: Read<Answer<'show_qualification'>>; acts: Acts;
}) {
    return <div class="stack">
        <Blocker id={id} machine={machine} step={step} acts={acts} failed={failedOf(test.data)} />
        <Outcome acts={acts} />
        <div class="cols">
            <div class="stack">
                <MachineTest test={test} onRetry={acts.test} busy={acts.busy} canRetry={canTest(machine)} />
                <MachineEarned id={id} machine={machine} />
                <MachineRentals machine={machine} />
                <TelemetryCharts machine={machine} />
                <HealthEvents events={machine.health_events ?? []} />
            </div>
            <aside class="stack" aria-label="How it stands">
                <PricePanel id={id} machine={machine} />
                <RightNow machine={machine} />
                <OfferPanel id={id} machine={machine} step={step} />
                <ReachPanel machine={machine} />
                <Label id={id} machine={machine} />
                <MachineActions machine={machine} acts={acts} />
                <Preempt id={id} machine={machine} />
            </aside>
        </div>
    </div>;
}

function canTest(machine: Machine): boolean {
    return machine.state === 'UNQUALIFIED' || machine.state === 'UNLISTED';
}

function failedOf(test: Answer<'show_qualification'> | undefined): ShownCheck[] {
    return shownChecks(test?.checks ?? []).filter(({ state }) => state === 'fail');
}

/** "One thing is in the way: Reachable from outside, found no answer, needed an answer." */
function testText(failed: readonly ShownCheck[]): string {
    const each = failed.map(({ name, found, needed }) => [name, found && `found ${lowered(found)}`,
        needed && `needed ${lowered(needed)}`].filter(Boolean).join(', '));
    return failed.length === 1 ? `One thing is in the way: ${each[0]}.`
        : `${failed.length} things are in the way: ${each.join('; ')}.`;
}

/** The one thing in the way, since when, and what it costs. */
function Blocker({ id, machine, step, acts, failed }: {
    id: string; machine: Machine; step: NextStep; acts: Acts; failed: readonly ShownCheck[];
}) {
    const earnings = useRead('show_machine_earnings', { path: { id }, query: { window: '30d' } }, { every: 60 });
    if (step.isEarning && step.act === 'none') return null;
    const days = earnings.data?.days ?? [];
    const since = lastEarningDay(days);
    const earningDays = days.filter(({ earned_micro }) => BigInt(earned_micro) > 0n);
    const average = earningDays.length === 0 ? 0n
        : sumOf(earningDays.map(({ earned_micro }) => earned_micro)) / BigInt(earningDays.length);
    const others = Math.max(0, (machine.listing_blockers?.length ?? 0) - 1);
    const isTest = failed.length > 0 && (step.id === 'test_failed' || step.id === 'retrying');
    const isDown = step.tone === 'stop' && since !== undefined;
    return <Notice tone={step.tone === 'go' || step.tone === 'slack' ? undefined : step.tone} role="status"
        title={isDown ? `Not earning since ${longDayText(since)}` : step.title}
        actions={<BlockerButton id={id} machine={machine} step={step} acts={acts} />}>
        <p>
            {isDown && `${step.title}. `}{isTest ? testText(failed) : step.text}
            {average > 0n && !step.isEarning
                && <> At your average that is about <Money micro={average} /> a day.</>}
            {others > 0 && !step.isEarning && ` ${plural(others, 'thing')} more after that.`}
        </p>
        {step.command && <Code text={step.command} label="the command" wrap />}
    </Notice>;
}

function BlockerButton({ id, machine, step, acts }: { id: string; machine: Machine; step: NextStep; acts: Acts }) {
    if (step.act === 'price') return <Button kind="primary" href={`/host/machines/${id}/offer`}>{step.label}</Button>;
    if (step.act === 'write') return <Button kind="primary" href="/help">{step.label}</Button>;
    if (step.act === 'list') {
        return <Button kind="primary" busy={acts.busy} onClick={() => void acts.list().then((answer) =>
            answer?.decision === 'admitted' && toast('For rent. Renters see it now.'))}>{step.label}</Button>;
    }
    const isRunning = machine.auto_qualify?.state === 'testing';
    if (!canTest(machine) || isRunning) return null;
    return <Button kind="primary" busy={acts.busy} onClick={() => void acts.test()}>Test again</Button>;
}
