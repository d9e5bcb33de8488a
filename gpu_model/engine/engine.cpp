// The word-by-word default of Engine::methods().
#include "gpu_model/engine/engine.h"

namespace gpu {

u32 Engine::methods(const ChannelContext& channel, u32 subchannel, u32 method_offset, u32 increment, const u32* data,
                    u32 count, MethodResult& result) {
    result = MethodResult::Ok;
    for (u32 i = 0; i < count; ++i) {
        result = method(channel, subchannel, method_offset + i * increment, data[i]);
        if (result != MethodResult::Ok) return i;
    }
    return count;
}

}  // namespace gpu
