#include "analyze/sections.hpp"
#include <fmt/format.h>
#include "posenc/text.hpp"
#include "posenc/config.hpp"
#include <fstream>
#include <iterator>
using namespace analyze_test; using namespace posenc;
namespace posenc::analyze_sections { std::optional<Section> explain(const Question&); }
TEST_CASE("scratch explain"){
  const auto text=[](const Cell& c){ return std::visit([](const auto& v)->std::string{ using T=std::decay_t<decltype(v)>;
    if constexpr(std::is_same_v<T,std::monostate>) return "-"; else if constexpr(std::is_same_v<T,std::string>) return v; else if constexpr(std::is_same_v<T,double>) return fmt::format("{:.12g}",v); else return print(v);}, c);};
  const auto show=[&](const Encoding& e, const Reading* r, std::optional<std::int64_t> n){
    auto s=analyze_sections::explain({e,r,{},n,DType::f32,true}); REQUIRE(s);
    for(auto&g: s->grids){ fmt::print("## {}\n", g.label); for(auto&row:g.rows){ for(auto&c:row) fmt::print("{} | ", text(c)); fmt::print("\n");} }
    for(auto&f: s->findings) fmt::print("* {}\n", f);
    fmt::print("=========\n");
  };
  const auto e=made("rope",{{"method","yarn"},{"factor","4"},{"original_max_position_embeddings","32768"},{"base","1000000"}});
  show(*e,nullptr,40960);
  for (std::string name: {"deepseek-ai--DeepSeek-V3","openai--gpt-oss-20b","microsoft--Phi-3.5-mini-instruct","meta-llama--Llama-3.1-8B","deepseek-ai--deepseek-coder-6.7b-base","google--gemma-4-31B"}) {
    std::ifstream f(std::string(POSENC_TEST_DATA)+"/configs/"+name+"/config.json"); std::string t((std::istreambuf_iterator<char>(f)),{});
    auto c=read_config(t,"config.json"); fmt::print("#### {}\n", name);
    for (auto& r: c.readings) if(r.encoding=="rope"){ std::vector<std::pair<std::string,std::string>> st; for(auto&s:r.settings) st.emplace_back(s.field,s.value); auto en=made("rope",st); show(*en,&r,r.context);} }
  show(*made("rope",{{"method","ntk"},{"factor","4"}}),nullptr,8192);
  show(*made("rope",{{"method","dynamic"},{"factor","2"},{"max_position_embeddings","2048"}}),nullptr,4096);
  show(*made("rope",{{"method","yarn"},{"factor","40"},{"original_max_position_embeddings","4096"},{"attention_factor","40"}}),nullptr,163840);
  show(*made("rope",{{"method","linear"},{"factor","0.125"}}),nullptr,{});
  show(*made("rope",{{"method","ntk-mixed"},{"factor","8"}}),nullptr,{});
}
