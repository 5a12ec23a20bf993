// A text as a QR code, dark on light in every colour scheme, because cameras expect that.

import { encode } from 'uqr';

interface QrCodeProps {
  readonly text: string;
  readonly label: string;
}

export function QrCode({ text, label }: QrCodeProps) {
  const { data, size } = encode(text, { border: 3 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      width={196}
      height={196}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" rx={1} />
      <path d={path} fill="#000" />
    </svg>
  );
}
