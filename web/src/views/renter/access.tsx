// How a rental is reached from elsewhere.
import type { Schema } from 'berth-client';
import { useState } from 'preact/hooks';
import { useRead } from '../../api';
import { visible } from '../../format';
import { Button, Code, Copy, Facts, Failure, Icon, Loading, Panel, Segmented } from '../../kit';
import { may, type Job } from './job';

type Access = Schema<'JobAccess'>;
type Language = 'python' | 'typescript' | 'curl';
const languages: [Language, string][] = [['python', 'Python'], ['typescript', 'TS'], ['curl', 'curl']];

function snippet(language: Language, jobId: string): string {
    const base = `${location.origin}/api/v1/jobs/${jobId}/openai/v1`;
    if (language === 'python') {
        return ['from openai import OpenAI', 'client = OpenAI(', `  base_url="${base}",`,
            '  api_key="ark_…")  # yours'].join('\n');
    }
    if (language === 'typescript') {
        return ["import OpenAI from 'openai';", 'const client = new OpenAI({', `  baseURL: '${base}',`,
            "  apiKey: 'ark_…' }); // yours"].join('\n');
    }
    return [`curl ${base}/chat/completions`, '-H "Authorization: Bearer $BERTH_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"model":"MODEL","messages":[{"role":"user","content":"Hello"}]}'`].join(' \\\n  ');
}

function FromCode({ job }: { job: Job }) {
    const [language, setLanguage] = useState<Language>('python');
    return <Panel title="Use it from code"
        aside={<Segmented label="Language" value={language} onChange={setLanguage} options={languages} />}>
        <Code wrap text={snippet(language, job.job_id)} label="the snippet" />
        <div class="row spread">
            <span class="small muted">Needs an API key of yours</span>
            <Button small icon="key" href="/account/keys">Make a key</Button>
        </div>
    </Panel>;
}

/** Masked until it is asked for; gone from the page with it. */
function Secret({ value }: { value: string }) {
    const [isShown, setShown] = useState(false);
    return <>
        <span class="mono">{isShown ? value : `${value.slice(0, 4)}••••••••`}</span>{' '}
        <button type="button" class="copy" aria-label={isShown ? 'Hide the key' : 'Show the key'} aria-pressed={isShown}
            onClick={() => setShown(!isShown)}><Icon name="eye" /></button>
        <Copy text={value} label="the key" />
    </>;
}

const fingerprint = /^SHA256:[A-Za-z0-9+/]{43}=?$/;

function Shell({ access }: { access: Access }) {
    if (!access.ssh_command) return null;
    const key = access.ssh_host_key_fingerprint;
    return <>
        <Code wrap text={access.ssh_command} label="the ssh line" />
        {key && fingerprint.test(key) ? <div class="small">
            <p class="muted">At the first login ssh asks about this key. It must be</p>
            <p class="mono">{key}{' '}<Copy text={key} label="the host key" /></p>
        </div> : <p class="small warn">The host has named no key to compare with at the first login.</p>}
    </>;
}

/** A name as a shell takes it. A host names its endpoints: what would be more than a name there is not offered. */
function shellWord(name: string): string | undefined {
    if (!/^[A-Za-z0-9][\w. -]*$/.test(name)) return undefined;
    return name.includes(' ') ? `'${name}'` : name;
}

function Pages({ access, jobId }: { access: Access; jobId: string }) {
    const pages = access.endpoints.flatMap(({ kind, url, name, endpoint_id: id }) => {
        const word = kind === 'http' && url !== null ? shellWord(name) : undefined;
        return word === undefined ? [] : [{ id, word }];
    });
    if (pages.length === 0) return null;
    return <div class="tight">
        <p class="small muted">Shows a page of it in your browser, with its key added:</p>
        {pages.map(({ id, word }) => <Code key={id} wrap label={`the line for ${word}`}
            text={`berth rentals open ${jobId} ${word}`} />)}
    </div>;
}

function Doors({ access, job }: { access: Access; job: Job }) {
    return <>
        <Shell access={access} />
        {!job.has_model_endpoint && <Pages access={access} jobId={job.job_id} />}
        <Facts small items={[
            ...access.endpoints.map((each) => [
                access.endpoints.length > 1 ? `Straight to ${visible(each.name)}` : 'Straight to the machine',
                <span class="mono" title={each.url ?? undefined}>{`${each.external_host}:${each.external_port}`}</span>,
            ] as const),
            access.endpoint_api_key ? ['Its key', <Secret value={access.endpoint_api_key} />] as const : null,
        ]} />
    </>;
}

export function AccessPanels({ job }: { job: Job }) {
    const isOpen = may(job, 'access');
    const read = useRead('show_job_access', { path: { id: job.job_id } }, { enabled: isOpen, isSecret: true });
    if (!isOpen) return null;
    return <>
        {job.has_model_endpoint && may(job, 'relay') && <FromCode job={job} />}
        <Panel title={read.data?.mode === 'retrieval' ? 'Fetch your files' : 'Reach it'}>
            {read.data ? <Doors access={read.data} job={job} />
                : read.error ? <Failure error={read.error} retry={read.refetch} /> : <Loading rows={2} />}
        </Panel>
    </>;
}
