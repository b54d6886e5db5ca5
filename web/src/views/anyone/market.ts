// The market in people's words and figures.
import { money, type Schema } from 'berth-client';
import { moneyText, visible } from '../../format';

export type Offer = Schema<'OfferSummary'>;
export type Template = Schema<'Template'>;

const bytesPerGib = 1024n ** 3n;

/** GiB with one place, as far as a number is exact. */
export function gibOf(bytes: string): number {
    return Number(BigInt(bytes) * 10n / bytesPerGib) / 10;
}

export function gibText(bytes: string): string {
    const value = gibOf(bytes);
    return `${value >= 10 ? Math.round(value) : value} GiB`;
}

/** GPU memory of the whole machine; undefined until it was measured. */
export function memoryOf(offer: Offer): string | undefined {
    return offer.vram_bytes === undefined ? undefined
        : String(BigInt(offer.vram_bytes) * BigInt(offer.gpu_count ?? 1));
}

/** Without the maker's name, which every offer of that model has. */
export function gpuName(model: string | null): string {
    return model === null ? 'Unknown GPU' : visible(model)
        .replace(/^(NVIDIA|AMD|Intel(\(R\))?)\s+/i, '').replace(/^(GeForce|Radeon|Instinct)\s+/i, '');
}

export function machineName(offer: Offer): string {
    return `${offer.gpu_count ?? 1} × ${gpuName(offer.model)}`;
}

export const continents: [string, string][] = [['AF', 'Africa'], ['AN', 'Antarctica'], ['AS', 'Asia'],
    ['EU', 'Europe'], ['NA', 'North America'], ['OC', 'Oceania'], ['SA', 'South America']];

/** Undefined where the address that it enrolled from tells nothing. */
export function placeOf(offer: Offer): string | undefined {
    return continents.find(([key]) => key === offer.continent)?.[1];
}

export function memoryAndPlace(offer: Offer): string {
    const memory = memoryOf(offer);
    return [memory ? `${gibText(memory)} GPU memory` : 'Memory not measured', placeOf(offer)].filter(Boolean).join(' · ');
}

const runtimes: Record<string, string> = { cuda: 'CUDA', 'rocm-hip': 'ROCm', rocm: 'ROCm', sycl: 'SYCL',
    vulkan: 'Vulkan', metal: 'Metal' };

export function runtimeName(key: string): string {
    return (Object.hasOwn(runtimes, key) ? runtimes[key] : undefined) ?? visible(key);
}

/** Why a machine cannot run a template: what is needed and what is there. */
export function misfit(offer: Offer, template: Template | undefined): string {
    switch (offer.fit?.reason) {
        case 'tier': return 'This host serves models of its own only';
        case 'runtime': return template === undefined ? 'Another kind of GPU is needed'
            : `Needs ${runtimeName(template.required_runtime)}; this has ${offer.backends.map(runtimeName).join(', ')}`;
        case 'gpu_count': return template === undefined ? 'More GPUs are needed'
            : `Needs ${template.min_gpu_count} GPUs; this has ${offer.gpu_count ?? 1}`;
        case 'vram': return template === undefined || offer.vram_bytes === undefined ? 'Too little GPU memory'
            : `Needs ${gibText(template.vram_fit.min_vram_bytes)} a GPU; this has ${gibText(offer.vram_bytes)}`;
        case 'vram_unmeasured': return 'Its memory is not measured yet';
        case 'driver': return template?.min_cuda ? `Needs a driver for CUDA ${template.min_cuda}`
            : 'Its driver is too old';
        default: return 'It cannot run this';
    }
}

export interface Difference { text: string; isLower: boolean }

/** Against what the same GPU mostly costs; undefined where too few are offered to tell. */
export function againstMarket(offer: Offer, market: string | null | undefined): Difference | undefined {
    if (!market || market === '0') return undefined;
    const [price, usual] = [money.micro(offer.rate_micro_per_gpu_hour), money.micro(market)];
    const tenths = Number((price - usual) * 1000n / usual);
    const whole = Math.round(Math.abs(tenths) / 10);
    if (whole === 0) return { text: 'at market', isLower: false };
    return { text: `${whole} % ${tenths < 0 ? 'under' : 'over'}`, isLower: tenths < 0 };
}

export function lineText(mbps: number | undefined): string | undefined {
    if (mbps === undefined) return undefined;
    return mbps >= 1000 ? `${(mbps / 1000).toFixed(1)} Gb/s` : `${Math.round(mbps)} Mb/s`;
}

export function exactRate(micro: string): string {
    return `${moneyText(micro, 6)} USDC an hour`;
}

export function recordOf(offer: Offer): { share: string; rentals: string } {
    const known = offer.reliability;
    if (!known) return { share: 'New', rentals: 'no rentals yet' };
    const rentals = `${known.sample_jobs} ${known.sample_jobs === 1 ? 'rental' : 'rentals'}`;
    return known.sample_jobs < 5 ? { share: 'New', rentals } : { share: `${Math.floor(known.score * 100)} %`, rentals };
}

export function classOf(offer: Offer): string {
    return offer.availability_class === 'interruptible' ? 'Interruptible' : 'Dedicated';
}

/** Median from the reservation to the first answer, in milliseconds. */
export function startOf(template: Template): number | undefined {
    const parts = template.time_to_ready;
    return parts ? Number(parts.pull_ms) + Number(parts.load_ms) + Number(parts.probe_ms) : undefined;
}

/** What somebody without a wish begins with: the model that needs the least. */
export function smallestModel(templates: Template[]): Template | undefined {
    const free = templates.filter((each) => each.kind === 'model' && !each.gated);
    return free.sort((a, b) => Number(BigInt(a.vram_fit.min_vram_bytes) - BigInt(b.vram_fit.min_vram_bytes)))[0];
}
