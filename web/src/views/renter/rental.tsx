// One rental: does it work, what does it cost?
import { useEffect, useRef, useState } from 'preact/hooks';
import { useRead } from '../../api';
import { duration, Id, useNow } from '../../format';
import { Badge, Button, Failure, Loading, Notice, Page } from '../../kit';
import { useParams } from '../../router';
import { jobState } from '../../words';
import { AccessPanels } from './access';
import { Banners } from './banners';
import { Chat } from './chat';
import { CostPanel } from './cost';
import {
    awaited, classText, isLow, isOver, isStarting, leftMs, lookEvery, machineText, may, nameOf, type Job,
} from './job';
import { LogPanel, UsagePanel } from './panels';
import { RaisePanel } from './raise';
import { HistoryPanel, StartPanel } from './start';
import { StopButton, WipeButton } from './stop';

/** Whether it came up before the eyes of who waits for it: a quick one is there before its page. */
function useCameUp(job: Job): boolean {
    const wasStarting = useRef(isStarting(job) || awaited.has(job.job_id));
    const [cameUp, setCameUp] = useState(false);
    useEffect(() => {
        if (isStarting(job)) {
            wasStarting.current = true;
        } else {
            awaited.delete(job.job_id);
            if (job.state === 'RUNNING' && wasStarting.current) setCameUp(true);
        }
    }, [job.state]);
    return cameUp;
}

function StateFacts({ job }: { job: Job }) {
    const { word, tone } = jobState(job.state);
    return <>
        <span role="status"><Badge state={job.state} tone={tone}>{word}</Badge></span>
        {machineText(job) && <span>{machineText(job)}</span>}
        <span>{classText(job)}</span>
        <Id value={job.job_id} what="rental id" />
    </>;
}

function Actions({ job }: { job: Job }) {
    return <>
        {!isOver(job) && <Button kind="quiet" href={`/rentals/${job.job_id}/receipt`}>Receipt</Button>}
        <Button kind="quiet" href={`/rentals/${job.job_id}/evidence`}>Evidence</Button>
        <StopButton job={job} />
        <WipeButton job={job} />
        {isOver(job) && <Button href="/">Rent a GPU</Button>}
    </>;
}

function Main({ job, cameUp }: { job: Job; cameUp: boolean }) {
    const [showsLog, setShowsLog] = useState(false);
    const log = <Button kind="quiet" small pressed={showsLog} onClick={() => setShowsLog(!showsLog)}>
        {showsLog ? 'Hide the log' : 'Log'}</Button>;
    const hasTalk = job.has_model_endpoint && (may(job, 'relay') || job.state === 'RUNNING');
    return <div class="stack">
        {cameUp && <Notice tone="go" role="status" title="It answers. The meter runs." />}
        {isStarting(job) && <StartPanel job={job} aside={log} />}
        {hasTalk && <Chat job={job} focusNow={cameUp} />}
        {job.has_model_endpoint && job.meter_started_at && <UsagePanel job={job} />}
        {!isStarting(job) && <HistoryPanel job={job} aside={log} />}
        {showsLog && <LogPanel job={job} />}
    </div>;
}

/** For the tab, which need not change every second. */
const wholeMinutes = (ms: number) => duration(Math.ceil(ms / 60_000) * 60_000).replace(' 00 s', '');

function Shown({ job, isStale }: { job: Job; isStale: boolean }) {
    const now = useNow(5_000);
    const cameUp = useCameUp(job);
    const left = leftMs(job, now);
    const note = left !== undefined && isLow(job, now) ? `${wholeMinutes(left)} left` : undefined;
    return <Page title={nameOf(job)} tabTitle={note} crumbs={[['Rentals', '/rentals']]}
        facts={<StateFacts job={job} />} actions={<Actions job={job} />}>
        <div class="stack">
            {isStale && <Notice tone="lamp" role="status" title="The service does not answer.">
                <p>What you see is from before. Trying again.</p></Notice>}
            <Banners job={job} />
            <div class="cols">
                <Main job={job} cameUp={cameUp} />
                <aside class="stack lead" aria-label="Cost and access">
                    <CostPanel job={job} />
                    {may(job, 'raise_budget') && !job.preemption && <RaisePanel job={job} />}
                    <AccessPanels job={job} />
                </aside>
            </div>
        </div>
    </Page>;
}

export default function Rental() {
    const { id = '' } = useParams();
    const [every, setEvery] = useState(1);
    const read = useRead('show_job', { path: { id } }, { every });
    const job = read.data as Job | undefined;
    const wanted = lookEvery(job);
    useEffect(() => setEvery(wanted), [wanted]);
    if (job) return <Shown key={job.job_id} job={job} isStale={read.isStale} />;
    return <Page title="Rental" crumbs={[['Rentals', '/rentals']]}>
        {read.error ? <Failure error={read.error} retry={read.refetch} /> : <Loading rows={6} />}
    </Page>;
}
