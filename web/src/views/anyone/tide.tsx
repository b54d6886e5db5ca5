// The sea beside the form: lines that come nearer, and the scale of a tide gauge below them.
const [width, height, lines, between] = [800, 400, 7, 8];

function wave(line: number): string {
    const base = 70 + line * 46;
    const points = Array.from({ length: width / between + 1 }, (_, at) => {
        const x = at * between;
        const y = base + 24 * Math.sin(x / 117 + line * 0.85) * Math.cos(x / 283 + line * 0.4)
            + 9 * Math.sin(x / 61 - line * 0.7);
        return `${x} ${y.toFixed(1)}`;
    });
    return `M${points.join('L')}`;
}

const waves = Array.from({ length: lines }, (_, line) => wave(line));
const marks = Array.from({ length: 40 }, (_, at) => `M${10 + at * 20} ${height}v${at % 5 === 0 ? -9 : -5}`).join('');

export function Tide() {
    return <svg class="tide" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {waves.map((path, line) => <path key={line} d={path} stroke-width={1.1 + line * 0.14}
            opacity={0.2 + line * 0.09} vector-effect="non-scaling-stroke" />)}
        <path class="ticks" d={marks} vector-effect="non-scaling-stroke" />
    </svg>;
}
