// What stands between a machine and money: one table, worst first. The first row that holds is the next step,
// and its place is the machine's place in the list.
import { duration } from '../../format';

/** After this long without a heartbeat the server takes a machine off the market. */
const silentAfterMs = 90_000;

export interface Situation {
    state: string;
    /** How the automatic test stands; undefined where only the list was read. */
    test: string | undefined;
    testReason: string | undefined;
    /** Since the last heartbeat; null before the first. */
    silentMs: number | null;
    offer: { state: string; offer_version: string } | null;
    blockers: readonly string[];
    modeReasons: readonly string[];
}

export type Act = 'open' | 'price' | 'test' | 'list' | 'write' | 'none';
export type Tone = 'go' | 'way' | 'lamp' | 'stop' | 'slack';

export interface NextStep {
    id: string;
    /** The lower, the worse. */
    rank: number;
    tone: Tone;
    badge: string;
    title: string;
    text: string;
    act: Act;
    label: string;
    /** To be run on the machine. */
    command: string | undefined;
    isEarning: boolean;
}

interface Row {
    id: string;
    when: (at: Situation) => boolean;
    tone: Tone;
    badge: string;
    title: string;
    text: string | ((at: Situation) => string);
    act: Act;
    label: string;
    command?: string;
    isEarning?: boolean;
}

const blocked = (code: string) => (at: Situation) => at.blockers.includes(code);
const inState = (state: string) => (at: Situation) => at.state === state;
const isRented = (at: Situation) => at.state === 'ALLOCATED' || at.state === 'CLEANING';
const isSilent = (at: Situation) => at.silentMs !== null && at.silentMs > silentAfterMs;
const needsTest = (at: Situation) => at.state === 'UNQUALIFIED' || at.blockers.includes('NOT_QUALIFIED');

const account: Row[] = [
    {
        id: 'suspended', when: blocked('HOST_SUSPENDED'), tone: 'stop', badge: 'Suspended',
        title: 'Your account is suspended', act: 'write', label: 'Write to us',
        text: 'Nothing of it is for rent until that is settled.',
    }, {
        id: 'capability', when: blocked('HOST_CAPABILITY_OFF'), tone: 'stop', badge: 'Hosting is off',
        title: 'Your account may not rent out machines', act: 'write', label: 'Write to us',
        text: 'Ask us to turn hosting on.',
    },
];

const broken: Row[] = [
    {
        id: 'gpu_lost', when: blocked('GPU_LOST'), tone: 'stop', badge: 'GPU lost',
        title: 'A GPU no longer answers on its bus', act: 'open', label: 'See which',
        text: 'Restart the machine. The agent says when the card is back.', command: 'sudo systemctl reboot',
    }, {
        id: 'quarantined', when: inState('QUARANTINED'), tone: 'stop', badge: 'Set aside',
        title: 'Set aside, and not for rent', act: 'open', label: 'See why',
        text: 'It comes back when its last rental was wiped, or when an operator has looked at it.',
        command: 'berth-agent status',
    }, {
        id: 'silent_rented', when: (at) => isSilent(at) && isRented(at), tone: 'stop', badge: 'Silent',
        title: 'Silent while somebody rents it', act: 'open', label: 'Bring it back',
        text: (at) => `Not heard for ${duration(at.silentMs ?? 0)}. You earn only what it proves.`,
        command: 'sudo systemctl restart berth-agent',
    }, {
        id: 'silent', when: (at) => isSilent(at) || (at.silentMs !== null && blocked('HEARTBEAT_STALE')(at)),
        tone: 'stop', badge: 'Silent', title: 'The machine is silent', act: 'open', label: 'Bring it back',
        text: (at) => `Not heard for ${duration(at.silentMs ?? 0)}. See that it is on, has a line, and runs the agent. `
            + 'It then goes back on the market by itself.',
        command: 'sudo systemctl restart berth-agent',
    }, {
        id: 'test_failed', when: (at) => at.test === 'needs_attention', tone: 'stop', badge: 'Test failed',
        title: 'It did not pass its test', act: 'open', label: 'See what failed',
        text: (at) => at.testReason ?? 'The test below says what was found, what is needed, and what to do.',
    }, {
        id: 'duplicate', when: blocked('GPU_DUPLICATE'), tone: 'stop', badge: 'GPU known',
        title: 'Another machine has the same GPU', act: 'open', label: 'See which',
        text: 'It passed its test with this GPU first. Retire it if it is yours; write to us if it is not.',
    }, {
        id: 'shared_memory', when: blocked('GPU_MEMORY_SHARED'), tone: 'stop', badge: 'Shared memory',
        title: 'A GPU shares its memory with the system', act: 'open', label: 'See which',
        text: 'Only GPUs with memory of their own can be rented out. Name those with --gpus.',
    }, {
        id: 'runtime', when: blocked('RUNTIME_NOT_ALLOWED'), tone: 'stop', badge: 'Runtime',
        title: 'This service takes containers only', act: 'open', label: 'See how',
        text: 'Run the agent with podman.', command: 'berth-agent run --runtime podman',
    }, {
        id: 'wipe', when: blocked('WIPE_UNAVAILABLE'), tone: 'stop', badge: 'Cannot be wiped',
        title: 'GPU memory could not be wiped', act: 'open', label: 'See the test',
        text: 'Update driver and agent, then test again. Without a wipe no rental can begin.',
    },
];

const setUp: Row[] = [
    {
        id: 'mode', when: blocked('MODE_NOT_OFFERABLE'), tone: 'lamp', badge: 'In use by you',
        title: 'The machine says that it cannot be rented now', act: 'open', label: 'See why',
        text: (at) => at.modeReasons.length > 0 ? `${at.modeReasons.join(', ')}.`
            : 'It goes back on the market when you no longer use it.',
    }, {
        id: 'class', when: blocked('CLASS_MODE_MISMATCH'), tone: 'lamp', badge: 'Wrong class',
        title: 'Class of the offer and mode of the machine do not fit', act: 'price', label: 'Change the class',
        text: 'An idle or shared machine is sold as interruptible, a dedicated one as dedicated.',
    }, {
        id: 'disk', when: blocked('DISK_TOO_SMALL'), tone: 'lamp', badge: 'Disk too small',
        title: 'The offer includes more disk than there is', act: 'price', label: 'Include less disk',
        text: 'Publish a version with less disk, or free some and test again.',
    }, {
        id: 'retrying', when: (at) => at.test === 'retrying', tone: 'lamp', badge: 'Test failed',
        title: 'The test did not pass, and is tried again', act: 'open', label: 'See what failed',
        text: (at) => at.testReason ?? 'It is tried again by itself.',
    }, {
        id: 'never_heard', when: (at) => at.silentMs === null && !isRented(at), tone: 'lamp', badge: 'Never heard',
        title: 'The agent was never heard', act: 'open', label: 'Start it',
        text: 'It is enrolled. Start the agent on the machine.', command: 'sudo systemctl enable --now berth-agent',
    }, {
        id: 'expired', when: blocked('OFFER_EXPIRED'), tone: 'lamp', badge: 'Offer is over',
        title: 'The time of the offer is over', act: 'price', label: 'Set a new end',
        text: 'Publish a version that ends later.',
    }, {
        id: 'no_offer', when: (at) => at.offer === null && !isRented(at), tone: 'lamp', badge: 'No price',
        title: 'It has no price yet', act: 'price', label: 'Set a price',
        text: 'Say what an hour costs and how long it is for rent.',
    },
];

const waiting: Row[] = [
    {
        id: 'testing', when: (at) => at.test === 'testing', tone: 'way', badge: 'Being tested',
        title: 'The test runs', act: 'open', label: 'Watch it', text: 'It takes about three minutes.',
    }, {
        id: 'manifest', when: blocked('MANIFEST_CHANGED'), tone: 'way', badge: 'Changed',
        title: 'Hardware or driver changed', act: 'open', label: 'See the test',
        text: 'It is tested again by itself.',
    }, {
        id: 'untested', when: needsTest, tone: 'way', badge: 'Not tested',
        title: 'It waits for its test', act: 'open', label: 'See the test',
        text: 'The test begins by itself while the agent is heard.',
    }, {
        id: 'paused', when: blocked('ADMISSION_PAUSED'), tone: 'lamp', badge: 'Paused',
        title: 'New listings are paused', act: 'none', label: '',
        text: 'The operators have paused them. What is for rent stays so.',
    }, {
        id: 'unlisted', when: inState('UNLISTED'), tone: 'slack', badge: 'Off the market',
        title: 'Ready, and not for rent', act: 'list', label: 'Put up for rent',
        text: 'Nothing is in the way. One press, and renters see it.',
    }, {
        id: 'draining', when: inState('DRAINING'), tone: 'way', badge: 'Last rental',
        title: 'Its last rental runs', act: 'list', label: 'Put up for rent again',
        text: 'It takes no other afterwards.', isEarning: true,
    },
];

const earning: Row[] = [
    {
        id: 'cleaning', when: inState('CLEANING'), tone: 'way', badge: 'Being wiped',
        title: 'Being wiped after a rental', act: 'none', label: '',
        text: 'It is for rent again in a moment.', isEarning: true,
    }, {
        id: 'available', when: inState('AVAILABLE'), tone: 'go', badge: 'For rent',
        title: 'For rent', act: 'none', label: '', text: 'Renters see it now.', isEarning: true,
    }, {
        id: 'allocated', when: inState('ALLOCATED'), tone: 'go', badge: 'Rented',
        title: 'Rented', act: 'none', label: '', text: 'It earns now.', isEarning: true,
    },
];

const table: readonly Row[] = [...account, ...broken, ...setUp, ...waiting, ...earning];

const unknown: Row = {
    id: 'unknown', when: () => true, tone: 'slack', badge: 'Unknown', title: 'Its state is new to this page',
    text: 'Load the page again.', act: 'open', label: 'See it',
};

export function nextStep(at: Situation): NextStep {
    const found = table.findIndex((row) => row.when(at));
    const row = table[found] ?? unknown;
    return {
        id: row.id, rank: found < 0 ? table.length : found, tone: row.tone, badge: row.badge, title: row.title,
        text: typeof row.text === 'string' ? row.text : row.text(at),
        act: row.act, label: row.label, command: row.command, isEarning: row.isEarning ?? false,
    };
}

interface Told {
    state?: string;
    last_healthy_at?: string | null;
    current_offer?: { state: string; offer_version: string } | null;
    listing_blockers?: readonly string[];
    auto_qualify?: { state: string; reason: string | null };
    host_mode?: { reasons: readonly string[] } | null;
}

/** What a machine's list entry or page tells; the page tells more. */
export function situationOf(machine: Told, nowMs: number): Situation {
    const heard = machine.last_healthy_at;
    return {
        state: machine.state ?? 'UNKNOWN',
        test: machine.auto_qualify?.state,
        testReason: machine.auto_qualify?.reason ?? undefined,
        silentMs: heard ? Math.max(0, nowMs - Date.parse(heard)) : null,
        offer: machine.current_offer ?? null,
        blockers: machine.listing_blockers ?? [],
        modeReasons: machine.host_mode?.reasons ?? [],
    };
}
