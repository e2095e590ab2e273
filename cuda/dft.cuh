/* Discrete Fourier transforms of a few numbers in registers: X[k] = sum over n of x[n] exp(SIGN 2 pi i n k/R), in natural
 * order, not scaled. R up to 16 with prime factors 2, 3, 5 and 7, from the transforms of prime size and of 4 by the
 * mixed-radix rule (Cooley & Tukey, Math. Comput. 19 (1965)). */
#ifndef KW_CUDA_DFT_CUH
#define KW_CUDA_DFT_CUH

#include <cuda_runtime.h>

namespace kw
{

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float s, float2 v) { return make_float2(s * v.x, s * v.y); }

/* a b and a conj(b) */
__device__ __forceinline__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ float2 times_conj(float2 a, float2 b)
{
    return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

template <int SIGN> __device__ __forceinline__ float2 times_root(float2 a, float2 root) /* root = exp(-2 pi i x) */
{
    return SIGN < 0 ? times(a, root) : times_conj(a, root);
}

/* SIGN i a */
template <int SIGN> __device__ __forceinline__ float2 times_i(float2 a)
{
    return SIGN < 0 ? make_float2(a.y, -a.x) : make_float2(-a.y, a.x);
}

/* ---- constants, made by the compiler ---- */

__host__ __device__ constexpr double taylor_cos(double x)
{
    double sum = 1, term = 1;
    for (int i = 1; i < 16; i++) sum += term *= -x * x / ((2.0 * i - 1) * (2.0 * i));
    return sum;
}

__host__ __device__ constexpr double taylor_sin(double x)
{
    double sum = x, term = x;
    for (int i = 1; i < 16; i++) sum += term *= -x * x / ((2.0 * i) * (2.0 * i + 1));
    return sum;
}

constexpr double TWO_PI = 6.283185307179586476925286766559;

/* cos and sin of 2 pi k/n, 0 <= k < n; exact where they are 0 or 1 */
__host__ __device__ constexpr double cos_of(int k, int n)
{
    if (4 * k == n || 4 * k == 3 * n) return 0;
    if (2 * k > n) k = n - k;
    return 4 * k > n ? -taylor_cos(TWO_PI * (n - 2 * k) / (2.0 * n)) : taylor_cos(TWO_PI * k / n);
}

__host__ __device__ constexpr double sin_of(int k, int n)
{
    if (2 * k == n || k == 0) return 0;
    if (2 * k > n) return -sin_of(n - k, n);
    return 4 * k > n ? taylor_sin(TWO_PI * (n - 2 * k) / (2.0 * n)) : taylor_sin(TWO_PI * k / n);
}

/* a exp(SIGN 2 pi i K/N) */
template <int SIGN, int K, int N> __device__ __forceinline__ float2 turned(float2 a)
{
    constexpr int k = K % N;
    constexpr float re = (float)cos_of(k, N), im = (float)(SIGN * sin_of(k, N));
    if constexpr (k == 0)
        return a;
    else if constexpr (2 * k == N)
        return make_float2(-a.x, -a.y);
    else if constexpr (4 * k == N)
        return times_i<SIGN>(a);
    else if constexpr (4 * k == 3 * N)
        return times_i<-SIGN>(a);
    else if constexpr (8 * k == N || 8 * k == 3 * N || 8 * k == 5 * N || 8 * k == 7 * N) {
        constexpr float half = (float)cos_of(1, 8), x = re < 0 ? -half : half, y = im < 0 ? -1.0f : 1.0f,
                        z = re < 0 ? -y : y; /* re (1 + z i) */
        return make_float2(x * (a.x - z * a.y), x * (a.y + z * a.x));
    } else
        return make_float2(re * a.x - im * a.y, re * a.y + im * a.x);
}

/* ---- transforms ---- */

__host__ __device__ constexpr int first_factor(int r)
{
    return r % 4 == 0 && r > 4 ? 4 : r % 3 == 0 ? 3 : r % 2 == 0 ? 2 : r % 5 == 0 ? 5 : 7;
}

template <int R, int SIGN> struct dft;

template <int R, int SIGN, int P, int Q> struct composite {
    template <int N2> __device__ __forceinline__ static void columns(float2 (&v)[R])
    {
        if constexpr (N2 < Q) {
            float2 c[P];
#pragma unroll
            for (int n1 = 0; n1 < P; n1++) c[n1] = v[Q * n1 + N2];
            dft<P, SIGN>::run(c);
            twiddle<N2, 0>(v, c);
            columns<N2 + 1>(v);
        }
    }
    template <int N2, int K1> __device__ __forceinline__ static void twiddle(float2 (&v)[R], float2 (&c)[P])
    {
        if constexpr (K1 < P) {
            v[Q * K1 + N2] = turned<SIGN, N2 * K1, R>(c[K1]);
            twiddle<N2, K1 + 1>(v, c);
        }
    }
    __device__ __forceinline__ static void run(float2 (&v)[R])
    {
        float2 out[R];
        columns<0>(v);
#pragma unroll
        for (int k1 = 0; k1 < P; k1++) {
            float2 c[Q];
#pragma unroll
            for (int n2 = 0; n2 < Q; n2++) c[n2] = v[Q * k1 + n2];
            dft<Q, SIGN>::run(c);
#pragma unroll
            for (int k2 = 0; k2 < Q; k2++) out[k1 + P * k2] = c[k2];
        }
#pragma unroll
        for (int k = 0; k < R; k++) v[k] = out[k];
    }
};

/* Odd primes: x[n] + x[R-n] with the cosines, x[n] - x[R-n] with the sines. */
template <int R, int SIGN> struct prime {
    template <int K, int N> __device__ __forceinline__ static void add(float2 &even, float2 &odd, const float2 *sum, const float2 *gap)
    {
        if constexpr (N <= R / 2) {
            constexpr float c = (float)cos_of(K * N % R, R), s = (float)sin_of(K * N % R, R);
            even.x = fmaf(c, sum[N].x, even.x);
            even.y = fmaf(c, sum[N].y, even.y);
            odd.x = N == 1 ? s * gap[N].x : fmaf(s, gap[N].x, odd.x);
            odd.y = N == 1 ? s * gap[N].y : fmaf(s, gap[N].y, odd.y);
            add<K, N + 1>(even, odd, sum, gap);
        }
    }
    template <int K> __device__ __forceinline__ static void outputs(float2 (&v)[R], float2 first, const float2 *sum, const float2 *gap)
    {
        if constexpr (K <= R / 2) {
            float2 even = first, odd = make_float2(0, 0);
            add<K, 1>(even, odd, sum, gap);
            odd = times_i<SIGN>(odd);
            v[K] = even + odd;
            v[R - K] = even - odd;
            outputs<K + 1>(v, first, sum, gap);
        }
    }
    __device__ __forceinline__ static void run(float2 (&v)[R])
    {
        float2 sum[R / 2 + 1], gap[R / 2 + 1], first = v[0];
#pragma unroll
        for (int n = 1; n <= R / 2; n++) {
            sum[n] = v[n] + v[R - n];
            gap[n] = v[n] - v[R - n];
            v[0] = v[0] + sum[n];
        }
        outputs<1>(v, first, sum, gap);
    }
};

template <int R, int SIGN> struct dft {
    __device__ __forceinline__ static void run(float2 (&v)[R])
    {
        constexpr int P = first_factor(R);
        if constexpr (R == P)
            prime<R, SIGN>::run(v);
        else
            composite<R, SIGN, P, R / P>::run(v);
    }
};

template <int SIGN> struct dft<1, SIGN> {
    __device__ __forceinline__ static void run(float2 (&)[1]) {}
};

template <int SIGN> struct dft<2, SIGN> {
    __device__ __forceinline__ static void run(float2 (&v)[2])
    {
        float2 a = v[0], b = v[1];
        v[0] = a + b;
        v[1] = a - b;
    }
};

template <int SIGN> struct dft<4, SIGN> {
    __device__ __forceinline__ static void run(float2 (&v)[4])
    {
        float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = times_i<SIGN>(v[1] - v[3]);
        v[0] = a + c;
        v[1] = b + d;
        v[2] = a - c;
        v[3] = b - d;
    }
};

} // namespace kw

#endif
