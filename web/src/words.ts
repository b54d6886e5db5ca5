// States and kinds of the API in people's words. What is not known here is shown as it is.
export type Tone = 'go' | 'way' | 'lamp' | 'stop' | 'slack';

export interface Word {
    word: string;
    tone: Tone;
}

type Words = Record<string, readonly [word: string, tone: Tone]>;

/** 'NEEDS_ATTENTION' is 'Needs attention'. */
export function plain(name: string): string {
    const text = name.toLowerCase().replace(/[_-]+/g, ' ');
    return text.charAt(0).toUpperCase() + text.slice(1);
}

const from = (words: Words) => (name: string | null | undefined): Word => {
    const known = Object.hasOwn(words, name ?? '') ? words[name ?? ''] : undefined;
    const [word, tone] = known ?? [plain(name ?? 'unknown'), 'slack'];
    return { word, tone };
};

export const jobState = from({
    RESERVED: ['Reserved', 'way'],
    STARTING: ['Starting', 'way'],
    READY: ['Running', 'go'],
    RUNNING: ['Running', 'go'],
    PREEMPTED: ['Leaving', 'lamp'],
    STOPPING: ['Stopping', 'lamp'],
    STOPPED: ['Stopped', 'slack'],
    FAILED: ['Never came up', 'stop'],
    CLOSED: ['Closed', 'slack'],
});

export const machineState = from({
    UNQUALIFIED: ['Not tested', 'lamp'],
    TESTING: ['Being tested', 'way'],
    AVAILABLE: ['For rent', 'go'],
    ALLOCATED: ['Rented', 'go'],
    CLEANING: ['Being wiped', 'way'],
    DRAINING: ['Last rental', 'lamp'],
    UNLISTED: ['Off the market', 'slack'],
    QUARANTINED: ['Set aside', 'stop'],
});

export const testState = from({
    waiting: ['Waiting for the test', 'way'],
    testing: ['Being tested', 'way'],
    passed: ['Test passed', 'go'],
    retrying: ['Tested again soon', 'lamp'],
    needs_attention: ['Test failed', 'stop'],
    failed: ['Test failed', 'stop'],
    pending: ['Waiting for the test', 'way'],
});

export const transferState = from({
    AWAITING_EMAIL_CONFIRMATION: ['Waiting for your mail', 'lamp'],
    INTENT: ['In line', 'way'],
    SUBMITTED: ['On the chain', 'way'],
    SETTLED: ['Paid', 'go'],
    FAILED: ['Failed, money is back', 'stop'],
    EXPIRED: ['Not confirmed in time', 'slack'],
    CANCELLED: ['Called off', 'slack'],
});

export const intentState = from({
    OPEN: ['Waiting for your transfer', 'way'],
    PENDING: ['Seen, not final yet', 'way'],
    CONFIRMED: ['Arrived', 'go'],
    EXCEPTION: ['Needs a person', 'lamp'],
    EXPIRED: ['Time ran out', 'slack'],
    CANCELLED: ['Called off', 'slack'],
});

export const addressState = from({
    AWAITING_EMAIL_CONFIRMATION: ['Waiting for your mail', 'lamp'],
    SAVED: ['Saved', 'go'],
});

export const depositState = from({
    SUSPENSE: ['Nobody\u2019s yet', 'lamp'],
    RETURNING: ['Being sent back', 'way'],
    RETURNED: ['Sent back', 'slack'],
    CLAIMED: ['Credited', 'go'],
    OWN: ['Ours', 'slack'],
});

export const disputeState = from({
    open: ['Open', 'lamp'],
    closed: ['Closed', 'slack'],
    upheld: ['Upheld', 'go'],
    rejected: ['Rejected', 'slack'],
});

export const ticketState = from({
    open: ['Waiting for us', 'lamp'],
    answered: ['Answered', 'go'],
    closed: ['Closed', 'slack'],
});

export const pendingState = from({
    waiting: ['Waits for a second person', 'lamp'],
    confirmed: ['Confirmed', 'go'],
    refused: ['Refused', 'stop'],
    expired: ['Time ran out', 'slack'],
});

export const recoveryState = from({
    waiting: ['Waiting', 'lamp'],
    objected: ['Objected', 'stop'],
    cancelled: ['Called off', 'slack'],
    completed: ['Done', 'go'],
    expired: ['Time ran out', 'slack'],
});

export const offerState = from({
    listed: ['For rent', 'go'],
    unlisted: ['Off the market', 'slack'],
    draining: ['Last rental', 'lamp'],
});

export const deliveryState = from({
    waiting: ['Waiting', 'way'],
    delivered: ['Delivered', 'go'],
    retrying: ['Tried again soon', 'lamp'],
    failed: ['Given up', 'stop'],
});

export const taskState = from({
    waiting: ['Waiting', 'way'],
    dead: ['Given up', 'stop'],
});

export const serviceState = from({
    operational: ['Works', 'go'],
    ok: ['Works', 'go'],
    ready: ['Works', 'go'],
    degraded: ['Works in part', 'lamp'],
    unready: ['Does not work', 'stop'],
    down: ['Does not work', 'stop'],
    failed: ['Does not work', 'stop'],
    off: ['Turned off', 'slack'],
});

export const verification = from({
    unverified: ['Not tested', 'lamp'],
    auto_verified: ['Tested', 'go'],
    manually_verified: ['Tested and checked by us', 'go'],
});

export const hostStatus = from({
    ok: ['The host answers', 'go'],
    stale: ['The host is silent. You pay only what it proves.', 'lamp'],
    engine_down: ['The engine is down. You are not billed.', 'lamp'],
    unreachable: ['The gate does not carry it. You are not billed after a minute.', 'lamp'],
});

const told = (words: Record<string, string>) => (name: string | null | undefined): string =>
    (Object.hasOwn(words, name ?? '') ? words[name ?? ''] : undefined) ?? plain(name ?? 'unknown');

export const availabilityClass = told({ dedicated: 'Dedicated', interruptible: 'Interruptible' });

export const tier = told({ container: 'Any container', inference: 'Models only' });

export const continent = told({
    AF: 'Africa', AN: 'Antarctica', AS: 'Asia', EU: 'Europe', NA: 'North America', OC: 'Oceania', SA: 'South America',
});

export const role = told({ renter: 'Renter', host: 'Host', admin: 'Operator' });

export const asset = told({ USDC: 'USDC', USDT: 'USDT' });

/** Why a rental ended, as a sentence without its stop. */
export const endReason = told({
    never_ready: 'It never came up',
    renter_stop: 'The renter stopped it',
    operator_stop: 'The operator stopped it',
    custom_images_off: 'Own images were turned off',
    funded_expiry: 'The budget was used up',
    duration_limit: 'The time was up',
    availability_ended: 'The machine was for rent only until then',
    workload_exited: 'The program ended by itself',
    engine_failed: 'The engine failed',
    preempted: 'The host took the machine back',
    host_lost: 'The host fell silent',
    gate_lost: 'The gate did not carry it for 15 minutes, which is nobody\u2019s fault',
});

/** How renters reach the jobs of a machine. */
export const reach = told({ direct: 'At its own port', gate: 'By a gate' });

export const failureCode = told({
    IMAGE_NOT_FOUND: 'The image does not exist',
    IMAGE_DIGEST_MISMATCH: 'The image is not the one that was asked for',
    PULL_TIMEOUT: 'Pulling the image took too long',
    DISK_FULL: 'The disk was full',
    OUT_OF_MEMORY: 'There was too little memory',
    ENGINE_EXITED: 'The engine ended while it started',
    PROBE_FAILED: 'It started and did not answer',
    HOST_REJECTED: 'The machine refused it',
    HOST_LOST: 'The host fell silent',
    NO_GATE: 'No gate was there to reach it by',
    INTERNAL: 'Something of ours failed',
});

export const progressStep = told({
    pull: 'Pulling the image', load: 'Loading the model', probe: 'Asking it something',
});

/** What moved money, as a statement tells it to its owner. */
export const entryKind = told({
    deposit: 'Money arrived',
    hold: 'Held for a rental',
    hold_release: 'Not used, back to you',
    job_charge: 'Paid for a rental',
    platform_fee: 'Fee of the platform',
    host_earning: 'Earned with a machine',
    refund: 'Refunded',
    refund_host_reversal: 'Refund, taken from the host',
    refund_fee_reversal: 'Refund, taken from the fee',
    withdrawal_lock: 'Set aside for a withdrawal',
    withdrawal_settled: 'Withdrawn',
    withdrawal_returned: 'Withdrawal came back',
    payout_lock: 'Set aside for a payout',
    payout_settled: 'Paid out',
    payout_returned: 'Payout came back',
    dispute_hold: 'Held back for a dispute',
    dispute_release: 'Freed after a dispute',
    advance: 'Advanced by the platform',
    debt_repaid: 'Debt paid back',
    debt_covered: 'Debt taken over by the platform',
    credit_hold: 'Held from a credit',
    credit_release: 'Not used, back to the credit',
    credit_refund: 'Refunded to the credit',
    gas: 'Network fee',
    fee_take_out: 'Fees taken out',
    cold_storage: 'Moved to cold storage',
    top_up: 'Topped up',
    suspense_return: 'Sent back to where it came from',
    campaign_fund: 'Put into a campaign',
    campaign_end: 'Left of a campaign',
});

export const pocket = told({
    available: 'Spendable',
    held: 'Held',
    payable: 'Ready to pay out',
    escrow: 'Held back for a dispute',
    reserved: 'On its way out',
    treasury: 'Treasury',
    outbound: 'Leaving',
    suspense: 'Nobody\u2019s yet',
    fee_income: 'Fees',
    expenses: 'Costs',
    cold: 'Cold storage',
    capital: 'Own money',
    promotions: 'Campaigns',
});

export const transferKind = told({ withdrawal: 'Withdrawal', payout: 'Payout', return: 'Sent back' });

export const searchKind = told({
    account: 'Account', agent: 'Agent', wallet: 'Wallet', address: 'Address', key: 'API key', machine: 'Machine',
    rental: 'Rental', transfer: 'Transfer', intent: 'Funding', claim: 'Claim', deposit: 'Deposit', payment: 'Payment',
    dispute: 'Dispute', pending_action: 'Waiting action', recovery: 'Recovery', ticket: 'Ticket', note: 'Note',
    guest: 'Guest', campaign: 'Campaign', credit: 'Credit', payee: 'Payee', blocked: 'Blocked address',
    task: 'Task', erasure: 'Erasure',
});

export const fitReason = told({
    tier: 'Runs models only',
    runtime: 'Lacks the runtime',
    gpu_count: 'Too few GPUs',
    vram_unmeasured: 'Memory not measured',
    driver: 'Driver too old',
    vram: 'Too little GPU memory',
});
