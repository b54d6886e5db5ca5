// What a host can do with a machine, and what each press does before it is pressed.
import { useRef, useState } from 'preact/hooks';
import type { Answer, BerthError } from 'berth-client';
import { useChange } from '../../api';
import { plural } from '../../format';
import { Button, Check, Failure, Notice, Panel, Sheet, toast } from '../../kit';
import { go } from '../../router';
import type { Machine } from './later';
import { lowered } from './parts';

type Listing = Answer<'list_machine'>;

export interface Acts {
    test: () => Promise<Listing | undefined>;
    list: () => Promise<Listing | undefined>;
    unlist: () => Promise<Listing | undefined>;
    drain: () => Promise<Listing | undefined>;
    rotate: () => Promise<Answer<'rotate_machine_key'> | undefined>;
    /** Whether it is gone. */
    retire: () => Promise<boolean>;
    busy: boolean;
    error: BerthError | undefined;
    reset: () => void;
    /** What the last of them answered. */
    outcome: Listing | undefined;
}

const concerned = ['show_machine', 'list_machines', 'show_qualification', 'list_offer_versions'] as const;

export function useMachineActs(id: string): Acts {
    const [outcome, setOutcome] = useState<Listing>();
    const isRetired = useRef(false);
    const after = { refresh: [...concerned], done: (answer: Listing) => setOutcome(answer) };
    const test = useChange('retry_qualification', after);
    const list = useChange('list_machine', after);
    const unlist = useChange('unlist_machine', after);
    const drain = useChange('drain_machine', after);
    const rotate = useChange('rotate_machine_key', { refresh: [...concerned] });
    const retire = useChange('retire_machine',
        { refresh: ['list_machines'], done: () => { isRetired.current = true; } });
    const all = [test, list, unlist, drain, rotate, retire];
    const given = { path: { id } };
    const reset = () => {
        setOutcome(undefined);
        for (const each of all) each.reset();
    };
    return {
        test: () => test.run(given), list: () => list.run(given), unlist: () => unlist.run(given),
        drain: () => drain.run(given), rotate: () => rotate.run(given),
        retire: async () => {
            await retire.run(given);
            return isRetired.current;
        },
        busy: all.some(({ busy }) => busy), error: all.find(({ error }) => error)?.error, reset, outcome,
    };
}

/** Findings of the last press; what was admitted needs no words. */
export function Outcome({ acts }: { acts: Acts }) {
    if (acts.error) return <Failure error={acts.error} retry={acts.reset} />;
    const findings = acts.outcome?.findings ?? [];
    if (findings.length === 0) return null;
    const isRefused = acts.outcome?.decision === 'rejected';
    return <Notice tone={isRefused ? 'lamp' : undefined} role="status"
        title={isRefused ? 'Not for rent yet' : 'Done, with a word on it'}
        actions={<Button small onClick={acts.reset}>Close</Button>}>
        <ul>{findings.map(({ code, message }) => <li key={code}>{message}</li>)}</ul>
    </Notice>;
}

type Name = 'unlist' | 'drain' | 'rotate' | 'retire';

interface Asked {
    title: string;
    button: string;
    kind: 'primary' | 'danger';
    consequences: (machine: Machine) => string[];
    done: string;
}

const openRentals = (machine: Machine) =>
    (machine.recent_jobs ?? []).filter(({ ended_at }) => ended_at === null).length;

function rentalGoesOn(machine: Machine): string {
    const open = openRentals(machine);
    return open === 1 ? 'The rental on it goes on to its end, and earns.'
        : open > 1 ? `${plural(open, 'rental')} on it go on to their end, and earn.`
        : 'Nobody rents it now.';
}

const asked: Record<Name, Asked> = {
    unlist: {
        title: 'Take it off the market', button: 'Take back', kind: 'primary', done: 'Off the market.',
        consequences: (machine) => ['Renters no longer see it, and nobody new can rent it.', rentalGoesOn(machine),
            'Price and dates stay. You can put it up again at any time.'],
    },
    drain: {
        title: 'Let the last rental end', button: 'Drain', kind: 'primary', done: 'It takes no other rental.',
        consequences: (machine) => [rentalGoesOn(machine), 'It takes no other afterwards, and is then off the market.',
            'Use it before you repair or move the machine.'],
    },
    rotate: {
        title: 'Give the machine a new key', button: 'Rotate the key', kind: 'primary',
        done: 'The agent was asked for a new key.',
        consequences: () => ['The agent makes a new key and shows it to the server with the old one.',
            'The old key dies with it. A copy of it is then worth nothing.', 'Rentals and offers stay as they are.'],
    },
    retire: {
        title: 'Retire the machine', button: 'Retire for good', kind: 'danger', done: 'Retired.',
        consequences: () => [
            'It leaves the service for good: its key dies, its offer ends, its agent is no longer heard.',
            'Rentals, receipts and earnings of it are kept, and what it earned is paid out as before.',
            'To bring it back you enrol it as a new machine, with a new test.'],
    },
};

/** Why a button is off; undefined where it is on. */
function reasonOff(name: Name, state: string | undefined): string | undefined {
    if (name === 'unlist' || name === 'drain') {
        return state === 'AVAILABLE' || state === 'ALLOCATED' || state === 'CLEANING'
            || (name === 'unlist' && state === 'DRAINING')
            ? undefined : 'It is not on the market.';
    }
    if (name === 'retire') {
        return state === 'UNQUALIFIED' || state === 'UNLISTED' || state === 'QUARANTINED'
            ? undefined : 'Take it off the market first, and let its rental end.';
    }
    return undefined;
}

export function MachineActions({ machine, acts }: { machine: Machine; acts: Acts }) {
    const [open, setOpen] = useState<Name>();
    const { state } = machine;
    const canTest = state === 'UNQUALIFIED' || state === 'UNLISTED';
    const retireOff = reasonOff('retire', state);
    const canList = canTest || state === 'DRAINING';
    const choose = (name: Name) => { acts.reset(); setOpen(name); };
    return <Panel title="Actions">
        <div class="stack">
            <div class="row">
                <Button disabled={!canTest} busy={acts.busy} onClick={() => void acts.test()}>Test again</Button>
                <Button disabled={!canList} busy={acts.busy} onClick={() => void acts.list().then((answer) =>
                    answer?.decision === 'admitted' && toast('For rent. Renters see it now.'))}>Put up for rent</Button>
            </div>
            <div class="row">
                {(['unlist', 'drain', 'rotate', 'retire'] as const).map((name) => {
                    const off = reasonOff(name, state);
                    return <span key={name} title={off}>
                        <Button kind={name === 'retire' ? 'danger' : undefined} disabled={off !== undefined}
                            onClick={() => choose(name)}>{asked[name].button}</Button>
                    </span>;
                })}
            </div>
            {!canTest && <p class="small muted">A machine is tested while it is off the market.</p>}
            {retireOff && <p class="small muted">To retire it: {lowered(retireOff)}</p>}
        </div>
        {open && <ActSheet name={open} machine={machine} acts={acts} onClose={() => setOpen(undefined)} />}
    </Panel>;
}

function ActSheet({ name, machine, acts, onClose }: { name: Name; machine: Machine; acts: Acts; onClose: () => void }) {
    const [isSure, setSure] = useState(false);
    const { title, button, kind, consequences, done } = asked[name];
    const press = async () => {
        const isDone = name === 'retire' ? await acts.retire() : await acts[name]() !== undefined;
        if (!isDone) return;
        toast(done);
        onClose();
        if (name === 'retire') go('/host');
    };
    return <Sheet title={title} open onClose={onClose} actions={<>
        <Button kind={kind} busy={acts.busy} disabled={name === 'retire' && !isSure} onClick={() => void press()}>
            {button}</Button>
        <Button onClick={onClose}>Cancel</Button>
    </>}>
        <div class="stack">
            <ul>{consequences(machine).map((each) => <li key={each}>{each}</li>)}</ul>
            {name === 'retire' && <Check checked={isSure} onChange={setSure} label="I know that it cannot be undone" />}
            {acts.error && <Failure error={acts.error} />}
        </div>
    </Sheet>;
}
