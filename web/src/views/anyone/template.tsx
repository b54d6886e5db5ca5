// One template: what it needs, how it starts, and which machines fit.
import { useRead } from '../../api';
import { Duration, Money, When, plural } from '../../format';
import { Async, Badge, Button, Code, Empty, Facts, Failure, Loading, Page, Panel, Stats, Table } from '../../kit';
import { useParams } from '../../router';
import { offerHref } from './catalog_rows';
import { classOf, gibText, machineName, memoryAndPlace, runtimeName, startOf, type Template } from './market';
import { useCatalog } from './soon';
import { fitsHref } from './templates';

const crumbs: [string, string][] = [['Templates', '/templates']];
const kindWords: Record<string, string> = { model: 'A model, spoken to through this service',
    classical: 'A tool, reached by SSH and its ports', custom: 'An image' };

export default function TemplatePage() {
    const { slug = '' } = useParams();
    const read = useRead('show_template', { path: { id: slug } }, { every: 60 });
    const template = read.data;
    if (!template) return <Page title="Template" crumbs={crumbs}>
        {read.error?.status === 404 ? <Empty title="There is no such template."
            action={<Button kind="primary" href="/templates">See all templates</Button>}>
                It may have been taken back.</Empty>
            : read.error ? <Failure error={read.error} retry={read.refetch} /> : <Loading rows={8} />}
    </Page>;
    return <Page title={template.name} crumbs={crumbs} facts={<>
        <span>{kindWords[template.kind] ?? template.kind}</span><span>{template.engine}</span>
        {template.gated && <Badge tone="lamp">Needs your hub token</Badge>}
    </>} actions={<Button kind="primary" href={fitsHref(template)}>See offers that fit</Button>}>
        <div class="stack">
            <Needs template={template} />
            <Fits template={template} />
            <Inside template={template} />
        </div>
    </Page>;
}

function Needs({ template }: { template: Template }) {
    const start = startOf(template);
    const parts = template.time_to_ready;
    const { est_weights_bytes: weights, est_kv_bytes_per_1k_tokens: context } = template.vram_fit;
    return <Panel title="What it needs">
        <Stats items={[
            ['GPU memory', gibText(template.vram_fit.min_vram_bytes), template.min_gpu_count > 1
                ? `on each of ${plural(template.min_gpu_count, 'GPU')}` : 'on one GPU'],
            ['Programmed with', runtimeName(template.required_runtime), template.min_cuda
                ? `CUDA ${template.min_cuda} or newer` : undefined],
            ['Answers after', start === undefined ? <span class="muted">not measured</span> : <Duration ms={start} />,
                start === undefined ? 'too few starts so far' : 'median of 30 days'],
            template.max_model_len !== null && ['Context', `${template.max_model_len.toLocaleString('en')} tokens`],
        ]} />
        <Facts items={[
            parts && ['Of that, fetching', <Duration ms={parts.pull_ms} />],
            parts && ['loading', <Duration ms={parts.load_ms} />],
            parts && ['first answer', <Duration ms={parts.probe_ms} />],
            weights !== '0' && ['Weights', gibText(weights)],
            context !== '0' && ['A thousand tokens of context', `${(Number(context) / 2 ** 20).toFixed(0)} MiB`],
            template.quantization !== null && ['Precision', template.quantization],
        ]} />
        {template.setup_notes && <p class="soft">{template.setup_notes}</p>}
        {template.gated && <p class="small soft">Its weights are given out to those who accepted their licence at
            the model hub. <a href="/account/hub">Save your token</a> once, and hand it over when you rent.</p>}
    </Panel>;
}

function Fits({ template }: { template: Template }) {
    const read = useCatalog({ template_id: template.id, fits_only: 'true', sort: 'price_asc', limit: '5' },
        { every: 60 });
    return <Panel flush title="Machines that fit" aside={read.data ? plural(read.data.total, 'offer') : undefined}
        footer={<a href={fitsHref(template)}>See all that fit</a>}>
        <Async read={read}>{({ items }) => items.length === 0
            ? <Empty title="No machine that is offered now fits.">Prices and machines change by the minute.</Empty>
            : <Table caption="Machines that fit" rows={items} keyOf={(offer) => offer.offer_id}
                href={(offer) => offerHref(offer, template)}
                columns={[
                    { head: 'Machine', cell: (offer) => <><span class="strong">{machineName(offer)}</span>
                        <small>{memoryAndPlace(offer)}</small></> },
                    { head: 'To spare', cell: (offer) => offer.fit ? gibText(offer.fit.headroom_bytes) : '' },
                    { head: 'Class', narrow: 'hide', cell: classOf },
                    { head: 'An hour', right: true,
                        cell: (offer) => <Money micro={offer.total_rate_micro_per_hour} places={4} /> },
                ]} />}</Async>
    </Panel>;
}

function Inside({ template }: { template: Template }) {
    const env = Object.entries(template.env as Record<string, string>);
    return <Panel title="What is inside">
        <Facts items={[
            ['Image', <span class="mono small">{template.image_digest ?? 'not published'}</span>],
            ['Serves',
                template.exposes.map((each) => `${each.name} (${each.protocol}, port ${each.port})`).join(', ')
                    || 'nothing'],
            ['A start may take', <Duration ms={template.start_deadline_s * 1000} />],
            ['Published', <When at={template.published_at} />],
            ['Name for programs', <span class="mono">{template.template_id}</span>],
        ]} />
        {template.command.length > 0 && <Code text={template.command.join(' ')} wrap label="the command" />}
        {env.length > 0 &&
            <Code text={env.map(([name, value]) => `${name}=${value}`).join('\n')} wrap label="the variables" />}
    </Panel>;
}
